import type { CaStage, CaTarget } from '../../../api/v1alpha1/index.ts';
import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { acceptedBy, issuerOf, pairOf, registered } from './material.ts';

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
          const why = behind(moment, machine, target);
          if (why !== undefined) return `${now} was entered while ${machine.name} ${why}`;
        }
      }
      return undefined;
    },
  };
}

function behind(moment: Moment, machine: SimMachine, target: CaTarget): string | undefined {
  const stage = moment.operation?.status.stage;
  const accepted = acceptedBy(machine, target);
  if (accepted === undefined || stage === undefined) return undefined;
  const pair = pairOf(moment, target);
  if (stage === 'AwaitingCredentials' || stage === 'Issuing') {
    return accepted.includes(pair.new) ? undefined : `does not accept the new ${target} CA`;
  }
  if (stage === 'Dropping') {
    const issuer = issuerOf(machine, target);
    return issuer === undefined || issuer === pair.new ? undefined : `shows a leaf of the old ${target} CA`;
  }
  if (stage === 'Finalizing' || stage === 'Done') {
    return accepted.includes(pair.old) ? `still accepts the old ${target} CA` : undefined;
  }
  return undefined;
}
