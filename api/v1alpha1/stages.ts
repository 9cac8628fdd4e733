/**
 * What the whole cluster is being brought to. `Pending` is before anything was
 * written or told; `Done` is after the proofs. The order never goes back.
 */
export const CA_STAGES = [
  'Pending',
  'Accepting',
  'AwaitingCredentials',
  'Issuing',
  'Dropping',
  'Finalizing',
  'Done',
] as const;

/** One stage of a CA rotation. */
export type CaStage = (typeof CA_STAGES)[number];

/** Whether `stage` comes at or after `other`. */
export function isAtLeast(stage: CaStage, other: CaStage): boolean {
  return CA_STAGES.indexOf(stage) >= CA_STAGES.indexOf(other);
}
