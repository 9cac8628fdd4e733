import type { CaTarget } from '../../../api/v1alpha1/index.ts';
import type { SimMachine } from '../machine.ts';
import type { Moment } from '../run.ts';
import { acceptedBy, issuerOf, pairOf } from './material.ts';

/** What a machine lacks of what was to be brought to it before the stage that the rotation is in; undefined where nothing. */
export function behindStage(moment: Moment, machine: SimMachine, target: CaTarget): string | undefined {
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

/** The same for any target of the rotation. */
export function isBehindStage(moment: Moment, machine: SimMachine): boolean {
  return moment.scenario.targets.some((target) => behindStage(moment, machine, target) !== undefined);
}
