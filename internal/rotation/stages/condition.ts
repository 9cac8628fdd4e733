import type { OperationCondition } from '../../../api/v1alpha1/index.ts';
import type { Context } from '../context.ts';

/** A condition of the operation's status, or `undefined` where it was never set. */
export function conditionOf(context: Context, type: OperationCondition['type']): OperationCondition | undefined {
  return context.observation.operation.status.conditions.find((condition) => condition.type === type);
}
