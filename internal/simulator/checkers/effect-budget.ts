import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { isFaulted } from './material.ts';

/** S13: one set of keys, as many applies and reboots as the stages need, and no more writes than there is news. */
export function effectBudget(): Checker {
  return {
    property: 'S13 effect budget',
    end(moment) {
      const { faults, scenario, world, operation } = moment;
      if (operation?.status.stage !== 'Done') return undefined;
      const count = (name: string): number => faults.calls.filter((call) => call === name).length;
      const isRolled = scenario.targets.includes('etcd');
      const slack = isFaulted(moment) ? 3 + 4 * faults.fired.length + 2 * (scenario.happenings ?? []).length : 0;
      for (const machine of world.machines()) {
        const applies = count(`ApplyConfiguration ${machine.name}`);
        const needed = appliesOf(moment, machine);
        if (applies > needed + slack)
          return `${machine.name} was given ${applies} configurations; ${needed} are needed`;
        const made = count(`Reboot ${machine.name}`);
        const allowed = (machine.role === 'controlplane' && isRolled ? reboots(moment) : 0) + slack;
        if (made > allowed) return `${machine.name} was rebooted ${made} times; ${allowed} are needed`;
      }
      if (count('store record') > 1 + slack) return `the record was written ${count('store record')} times`;
      return writes(moment, slack);
    },
  };
}

/** A third reboot, after Issuing, is skipped where it is seen that etcd serves the new leaf. */
function reboots({ world }: Moment): number {
  return world.closedPorts.some((port) => port === 2379 || port === 2380) ? 3 : 2;
}

/** Workers drop the Kubernetes CA before control planes do, and the Talos CA after them. */
function appliesOf({ scenario: { targets } }: Moment, { role }: SimMachine): number {
  return role === 'worker' && targets.includes('talos') && targets.includes('kubernetes') ? 4 : 3;
}

/** The status is written when there is news: a bound that grows with the machines, not with time. */
function writes({ faults, world }: Moment, slack: number): string | undefined {
  const made = faults.calls.filter((call) => call === 'store status').length;
  const allowed = 60 + 70 * world.machines().length + 60 * slack;
  return made > allowed ? `the status was written ${made} times; at most ${allowed} were expected` : undefined;
}
