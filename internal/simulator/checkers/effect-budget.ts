import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { isFaulted } from './material.ts';

/** S13: one set of keys, as many applies and reboots as the stages need, and no more writes than there is news. */
export function effectBudget(): Checker {
  return {
    property: 'S13 effect budget',
    end(moment) {
      const { world, operation } = moment;
      if (operation?.status.stage !== 'Done') return undefined;
      for (const machine of world.machines()) {
        const why = applies(moment, machine) ?? reboots(moment, machine);
        if (why !== undefined) return why;
      }
      const records = count(moment, 'store record');
      const allowed = 1 + again(moment, 'store record');
      return records > allowed
        ? `the record was written ${records} times; at most ${allowed} are needed`
        : writes(moment);
    },
  };
}

function count({ faults }: Moment, name: string): number {
  return faults.calls.filter((call) => call === name).length;
}

/** How often a call of this name came to a bad end, and may have to be made again. */
function again({ faults }: Moment, name: string): number {
  return faults.fired.filter(({ at }) => faults.calls[at] === name).length;
}

/** How often somebody laid hands on this machine: a call that is under way then comes to nothing. */
function timesTouched({ scenario }: Moment, { name }: SimMachine): number {
  return (scenario.happenings ?? []).filter((each) => 'machine' in each && each.machine === name).length;
}

/** How often somebody set this machine back, so that all of it may have to be done again. */
function timesSetBack({ scenario }: Moment, { name }: SimMachine): number {
  return (scenario.happenings ?? []).filter(
    (each) => ['restore', 'replace', 'state-full'].includes(each.what) && 'machine' in each && each.machine === name,
  ).length;
}

/** Workers drop the Kubernetes CA before control planes do, and the Talos CA after them. */
function applies(moment: Moment, machine: SimMachine): string | undefined {
  const { targets } = moment.scenario;
  const isTwice = machine.role === 'worker' && targets.includes('talos') && targets.includes('kubernetes');
  const stages = isTwice ? 4 : 3;
  const name = `ApplyConfiguration ${machine.name}`;
  const allowed = stages * (1 + timesSetBack(moment, machine)) + timesTouched(moment, machine) + again(moment, name);
  const made = count(moment, name);
  return made > allowed ? `${machine.name} was given ${made} configurations; ${allowed} are needed` : undefined;
}

function reboots(moment: Moment, machine: SimMachine): string | undefined {
  const name = `Reboot ${machine.name}`;
  const isRolled = machine.role === 'controlplane' && moment.scenario.targets.includes('etcd');
  const stages = isRolled ? rolls(moment) : 0;
  const allowed = stages * (1 + timesSetBack(moment, machine)) + timesTouched(moment, machine) + again(moment, name);
  const made = count(moment, name);
  return made > allowed ? `${machine.name} was rebooted ${made} times; ${allowed} are needed` : undefined;
}

/** A third one, after Issuing, is skipped where it is seen that etcd serves the new leaf. */
function rolls(moment: Moment): number {
  const isUnseen = moment.world.closedPorts.some((port) => port === 2379 || port === 2380);
  return isUnseen || isFaulted(moment) ? 3 : 2;
}

/** The status is written when there is news: a bound that grows with the machines and with what goes wrong, not with time. */
function writes(moment: Moment): string | undefined {
  const { faults, scenario, world } = moment;
  const mishaps = 4 * faults.fired.length + 2 * (scenario.happenings ?? []).length;
  const made = count(moment, 'store status');
  const allowed = 60 + 70 * world.machines().length + 60 * mishaps;
  return made > allowed ? `the status was written ${made} times; at most ${allowed} were expected` : undefined;
}
