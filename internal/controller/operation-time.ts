import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';

/** What time it is for an operation: what its settles and deadlines are measured with. */
export interface OperationTime {
  /** Milliseconds since the epoch. Within one process it passes as the monotonic clock does. */
  now(operation: TalosOperation): number;
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
  const offsets = new Map<string, number>();
  return {
    now(operation) {
      const { uid } = operation.metadata;
      const passed = clock.monotonic();
      const known = offsets.get(uid);
      if (known !== undefined) return Math.floor(passed + known);
      const offset = Math.max(clock.now(), lastWritten(operation)) - passed;
      offsets.set(uid, offset);
      return Math.floor(passed + offset);
    },
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
  ];
  return Math.max(...times.map((time) => (time === undefined ? 0 : Date.parse(time))), 0);
}
