import { rotationAbandonable } from '../../../api/v1alpha1/index.ts';
import type { Checker } from '../run.ts';

/** So many looks after a deletion it is being taken back, or said to be too late. */
const LOOKS = 3;

/** L6: whoever deletes an operation is rid of it, or is told that it is too late. */
export function abort(): Checker {
  let since: number | undefined;
  return {
    property: 'L6 abort',
    check({ operation, scenario, faults }) {
      if (operation?.metadata.deletionTimestamp === undefined) return undefined;
      since ??= faults.looks.length;
      const { stage, conditions } = operation.status;
      const isHeld = conditions.some((each) => each.type === 'DeletionHeld' && each.status === 'True');
      if (isHeld || stage === 'Done' || faults.looks.length - since < LOOKS) return undefined;
      if (rotationAbandonable(stage, scenario.targets).abandonable) return undefined;
      return `a deleted operation is in ${stage}, and nobody is told why it goes on`;
    },
    end({ operation }) {
      if (operation?.metadata.deletionTimestamp === undefined || operation.status.stage === 'Done') return undefined;
      const isHeld = operation.status.conditions.some((each) => each.type === 'DeletionHeld' && each.status === 'True');
      return isHeld ? undefined : 'a deleted operation is still there, and nobody is told why';
    },
  };
}
