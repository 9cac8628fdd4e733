import { CA_STAGES, type CaStage } from '../../../api/v1alpha1/index.ts';
import type { Checker } from '../run.ts';

/** S8: the stage never goes back. */
export function stageMonotone(): Checker {
  let highest: CaStage = 'Pending';
  return {
    property: 'S8 monotone stage',
    check({ operation }) {
      const stage = operation?.status.stage;
      if (stage === undefined) return undefined;
      if (CA_STAGES.indexOf(stage) < CA_STAGES.indexOf(highest))
        return `the stage went from ${highest} back to ${stage}`;
      highest = stage;
      return undefined;
    },
  };
}
