import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import type { Settings } from '../rotation/context.ts';
import { decide } from '../rotation/decide.ts';
import { type Decision, SETTLE_RECHECK_MS } from '../rotation/decision.ts';
import type { MachineObservation, Observation } from '../rotation/observation.ts';
import type { Memory, Observed } from './observe.ts';

/** What the last whole look has left us to wait for. */
export interface Waiting {
  readonly observed: Observed;
  /** The machines that can end it. */
  readonly machines: readonly string[];
  /** When that look began, on the monotonic clock. */
  readonly lookedAt: number;
}

/** A decision that does nothing, and what it was made of. */
export interface Resting {
  readonly decision: Exclude<Decision, { kind: 'act' }>;
  readonly observation: Observation;
}

/**
 * The machines that are looked at alone after this decision, for as long as one waits for them: those that the wait
 * names, or the one that was told something and restarts what it runs. Nothing where the next look is a whole one.
 */
export function watchedFor(decision: Decision): readonly string[] | undefined {
  if (decision.kind === 'wait') return decision.watch;
  if (decision.kind !== 'act') return undefined;
  const { effect } = decision;
  switch (effect.kind) {
    case 'apply-configs':
      return effect.machines.slice(0, 1);
    case 'apply-config':
    case 'revert-config':
    case 'reboot':
      return [effect.machine];
    default:
      return undefined;
  }
}

/** What it is asked with. */
export interface StillWaitingInput {
  readonly memory: Pick<Memory, 'time'>;
  readonly settings: Settings;
  /** As it is now: somebody may have paused or deleted it. */
  readonly operation: TalosOperation;
  /** On the monotonic clock. */
  readonly now: number;
}

/**
 * Whether one still waits for these machines, asked of them alone: the rest of the picture is as old as it was.
 * Whatever else comes out, anything that is to be done above all, is no answer: it is asked of a whole picture. So is
 * the same wait after five seconds, because others may have gone, or somebody may have damaged the record.
 */
export async function stillWaiting(
  { observed, machines, lookedAt }: Waiting,
  { memory, settings, operation, now }: StillWaitingInput,
): Promise<Resting | undefined> {
  if (now - lookedAt >= SETTLE_RECHECK_MS) return undefined;
  if (operation.metadata.uid !== observed.observation.operation.metadata.uid) return undefined;
  const seen = await Promise.all(machines.map(observed.lookAgain));
  const observation: Observation = {
    ...observed.observation,
    now: memory.time.now(operation),
    operation,
    machines: observed.observation.machines.map((before) => seen.find(isThe(before)) ?? before),
  };
  const decision = decide(observation, settings);
  const isSame = decision.kind === 'wait' && isEvery(decision.watch, machines) && !seen.includes(undefined);
  return isSame ? { decision, observation } : undefined;
}

function isThe({ name }: MachineObservation): (seen: MachineObservation | undefined) => boolean {
  return (seen) => seen?.name === name;
}

function isEvery(watch: readonly string[] | undefined, machines: readonly string[]): boolean {
  return watch?.length === machines.length && watch.every((name, index) => name === machines[index]);
}
