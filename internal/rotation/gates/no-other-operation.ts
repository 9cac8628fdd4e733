import type { Context } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** One operation per cluster at a time. */
export function noOtherOperation(context: Context): Blocker | undefined {
  const others = context.observation.store.otherOperations;
  if (others.length === 0) return undefined;
  return {
    reason: 'ForeignOperation',
    message: `${others.join(', ')} is under way on this cluster; expected none beside this one`,
  };
}
