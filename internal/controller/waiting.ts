import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import type { Settings } from '../rotation/context.ts';
import { decide } from '../rotation/decide.ts';
import { type Decision, SETTLE_RECHECK_MS } from '../rotation/decision.ts';
import type { Observation } from '../rotation/observation.ts';
import type { Memory, Observed } from './observe.ts';
import type { Ports } from './ports.ts';

/** What the last whole look has left us to wait for. */
export interface Waiting {
  readonly observed: Observed;
  /** The machines that can end it. */
  readonly machines: readonly string[];
}

/** A decision that does nothing, and what it was made of. */
export interface Resting {
  readonly decision: Exclude<Decision, { kind: 'act' }>;
  readonly observation: Observation;
}

/**
 * The machines that are looked at alone after this decision, for as long as one waits for any of them: those that the
 * wait names, or those that were told something and restart what they run. Nothing where the next look is a whole one.
 */
export function watchedFor(decision: Decision): readonly string[] | undefined {
  if (decision.kind === 'wait') return decision.watch;
  if (decision.kind !== 'act') return undefined;
  const { effect } = decision;
  switch (effect.kind) {
    case 'apply-configs':
      return effect.machines;
    case 'apply-config':
    case 'revert-config':
      return [effect.machine];
    default:
      return undefined;
  }
}

/** What it is asked with. */
export interface StillWaitingInput {
  readonly ports: { readonly clock: Pick<Ports['clock'], 'now'> };
  readonly memory: Pick<Memory, 'time'>;
  readonly settings: Settings;
  /** As it is now: somebody may have paused or deleted it. */
  readonly operation: TalosOperation;
}

/**
 * Whether one still waits for these machines, asked of them alone: the rest of the picture is as old as it was.
 * Whatever else comes out, anything that is to be done above all, is no answer: it is asked of a whole picture. So is
 * the same wait five seconds after the last one, because others may have gone, or somebody may have damaged the record.
 */
export async function stillWaiting(
  { observed, machines }: Waiting,
  input: StillWaitingInput,
): Promise<Resting | undefined> {
  const { memory, settings, operation } = input;
  if (operation.metadata.uid !== observed.observation.operation.metadata.uid) return undefined;
  if (ageOf(observed, input) >= SETTLE_RECHECK_MS) return undefined;
  const seen = await Promise.all(machines.map(observed.lookAgain));
  // Who does not answer takes a while to say so.
  if (ageOf(observed, input) >= SETTLE_RECHECK_MS) return undefined;
  const observation: Observation = {
    ...observed.observation,
    now: memory.time.now(operation),
    operation,
    machines: observed.observation.machines.map((old) => seen.find((each) => each?.name === old.name) ?? old),
  };
  const decision = decide(observation, settings);
  if (decision.kind !== 'wait' || seen.includes(undefined)) return undefined;
  return decision.watch?.every((name) => machines.includes(name)) ? { decision, observation } : undefined;
}

/** How long ago the look began, milliseconds, by the clock that says more: a monotonic one stands still while the host sleeps. */
function ageOf({ startedAt, aheadMs }: Observed, { ports, memory, operation }: StillWaitingInput): number {
  return Math.max(memory.time.now(operation) - startedAt, ports.clock.now() - aheadMs - startedAt);
}
