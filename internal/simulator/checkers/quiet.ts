import type { Checker } from '../run.ts';

/** L7: after Done nothing is written any more, not even by a program that is started again. */
export function quiet(): Checker {
  return {
    property: 'L7 quiet',
    end({ faults }) {
      const { callsAtDone } = faults.log;
      if (callsAtDone === undefined) return undefined;
      const later = faults.calls.slice(callsAtDone);
      return later.length === 0 ? undefined : `after the end: ${later.join(', ')}`;
    },
  };
}
