import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';

/** What time it is for an operation: what its settles and deadlines are measured with. */
export interface OperationTime {
  /** Milliseconds since the epoch. Within one process it passes as the monotonic clock does. */
  now(operation: TalosOperation): number;
  /** What it was when this process looked at the operation first. */
  since(operation: TalosOperation): number;
}

/**
 * Settles and deadlines stand in the status as times of the wall clock, so that
 * they outlive a process. A wall clock is corrected in both directions: back by
 * an hour, and two minutes of waiting become an hour and two minutes; forward,
 * and they are over at once. From the first look at an operation on its time
 * therefore passes with the monotonic clock. It begins where the wall clock
 * stands, and never before what the status already says has happened.
 */
export function createOperationTime(clock: Clock): OperationTime {
  const begun = new Map<string, { readonly time: number; readonly passed: number }>();
  function beginning(operation: TalosOperation): { readonly time: number; readonly passed: number } {
    const { uid } = operation.metadata;
    const known = begun.get(uid);
    if (known !== undefined) return known;
    const first = { time: Math.max(clock.now(), lastWritten(operation)), passed: clock.monotonic() };
    begun.set(uid, first);
    return first;
  }
  return {
    now(operation) {
      const { time, passed } = beginning(operation);
      return Math.floor(clock.monotonic() - passed + time);
    },
    since: (operation) => Math.floor(beginning(operation).time),
  };
}

/** The latest moment that the status tells of. Deadlines are left out: they lie ahead. */
function lastWritten({ status }: TalosOperation): number {
  const { caRotation, conditions, history } = status;
  const times = [
    ...conditions.map((each) => each.lastTransitionTime),
    ...history.map((each) => each.time),
    ...caRotation.applied.map((each) => each.appliedAt),
    caRotation.stageStartedAt,
    caRotation.etcdRestartedAt,
    caRotation.etcdRebootSince,
    caRotation.drainStartedAt,
    caRotation.drainTriedAt,
    caRotation.evacuation?.since,
    caRotation.evacuation?.answer?.at,
  ];
  return Math.max(...times.map((time) => (time === undefined ? 0 : Date.parse(time))), 0);
}
