import { CA_STAGES, type CaStage } from '../../../api/v1alpha1/index.ts';
import type { Checker } from '../run.ts';

/** S8: the stage of an operation never goes back. */
export function stageMonotone(): Checker {
  let highest: CaStage = 'Pending';
  let uid: string | undefined;
  return {
    property: 'S8 monotone stage',
    check({ operation }) {
      const stage = operation?.status.stage;
      if (stage === undefined) return undefined;
      if (operation?.metadata.uid !== uid) highest = 'Pending';
      uid = operation?.metadata.uid;
      if (CA_STAGES.indexOf(stage) < CA_STAGES.indexOf(highest))
        return `the stage went from ${highest} back to ${stage}`;
      highest = stage;
      return undefined;
    },
  };
}
