import type { Checker } from '../run.ts';

/**
 * S12: a process whose lock was taken over changes nothing any more. The store's
 * lock is asked before every write, and nothing is sent without a write before
 * it; the effect that was under way ends within its deadline, and is waited for.
 */
export function fenced(): Checker {
  return {
    property: 'S12 fencing',
    check({ faults }) {
      const [call] = faults.trespasses;
      return call === undefined ? undefined : `${call} was sent by a program whose lock another one had taken`;
    },
  };
}
