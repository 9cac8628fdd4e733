import type { CaStage } from '../../../api/v1alpha1/index.ts';
import type { Checker } from '../run.ts';
import { registered } from './material.ts';
import { behindStage } from './standing.ts';

/** S10: a stage is entered only when every machine that there is has what the stage before brings it. */
export function everyMachineCounted(): Checker {
  let stage: CaStage = 'Pending';
  return {
    property: 'S10 every machine counted',
    check(moment) {
      const { operation, world, scenario } = moment;
      const now = operation?.status.stage ?? stage;
      if (now === stage) return undefined;
      stage = now;
      for (const machine of registered(world)) {
        for (const target of scenario.targets) {
          const why = behindStage(moment, machine, target);
          if (why !== undefined) return `${now} was entered while ${machine.name} ${why}`;
        }
      }
      return undefined;
    },
  };
}
