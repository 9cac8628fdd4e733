import type { AuditEntry } from '../../internal/controller/index.ts';
import type { RecordedStep } from './recording.ts';

/** One effect as the audit trail tells it. */
export interface TrailStep extends Omit<RecordedStep, 'moved' | 'became'> {
  /** When it was first tried, milliseconds since the epoch. */
  readonly begunAt: number;
}

/** Effects that change what a machine runs: what moves on it until the next one follows from them. */
const MOVING: readonly string[] = ['apply-config', 'reboot', 'revert-config'];

/** Whether what moves on its machine is counted to this step. */
export function isMoving({ effect, machine }: Pick<TrailStep, 'effect' | 'machine'>): boolean {
  return machine !== undefined && MOVING.includes(effect);
}

/**
 * The effects of one operation in their order, from its audit trail: every real
 * rotation leaves one. Tries of the same effect in a row are one step. An effect
 * without an entry after it (the program died with the call in hand) is unknown.
 */
export function stepsOf(entries: readonly AuditEntry[], operation: string): TrailStep[] {
  const steps: TrailStep[] = [];
  const [first] = entries.filter((entry) => entry.operation === operation);
  for (const entry of entries) {
    if (entry.operation !== operation || first === undefined) continue;
    const last = steps.at(-1);
    const isSame = last?.effect === entry.effect && last.stage === entry.stage && last.machine === entry.machine;
    if (entry.phase === 'after') {
      if (isSame) steps[steps.length - 1] = { ...last, outcome: entry.outcome ?? 'unknown' };
      continue;
    }
    // The same effect once more after it was done is a step of its own, as the next round of a drain.
    if (isSame && last.outcome !== 'ok') steps[steps.length - 1] = { ...last, tries: (last.tries ?? 1) + 1 };
    else steps.push(begun(entry, Date.parse(first.time)));
  }
  return steps;
}

function begun(entry: AuditEntry, firstAt: number): TrailStep {
  const begunAt = Date.parse(entry.time);
  return {
    at: Math.round((begunAt - firstAt) / 100) / 10,
    begunAt,
    stage: entry.stage as RecordedStep['stage'],
    effect: entry.effect,
    ...(entry.machine === undefined ? {} : { machine: entry.machine }),
    outcome: 'unknown',
  };
}
