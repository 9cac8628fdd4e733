import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { isDisturbed } from './material.ts';

/**
 * S3: quorum is never broken by us, not even if every connection broke this
 * instant: what then comes about follows from what each process read at its start.
 */
export function quorum(): Checker {
  const rebooting = new Set<string>();
  return {
    property: 'S3 quorum',
    check(moment) {
      const { world } = moment;
      for (const machine of world.planes()) {
        if (!machine.isRebooting) rebooting.delete(machine.name);
        else if (!rebooting.has(machine.name)) {
          rebooting.add(machine.name);
          const why = isForeign(moment, machine) ? undefined : tooFew(moment, machine);
          if (why !== undefined) return why;
        }
      }
      if (!isDisturbed(moment)) return shakenHands(moment) ?? lost(moment);
      return undefined;
    },
  };
}

function isForeign({ scenario }: Moment, machine: SimMachine): boolean {
  return (scenario.happenings ?? []).some((each) => 'machine' in each && each.machine === machine.name);
}

function needed(total: number): number {
  return Math.floor(total / 2) + 1;
}

/** A reboot is asked for only if the others keep quorum without it. */
function tooFew({ world }: Moment, machine: SimMachine): string | undefined {
  const total = world.etcd.members.filter((member) => !member.learner).length;
  // One of one is allowed; one of two takes the other's quorum with it.
  if (total < 2) return undefined;
  const others = world.planes().filter((each) => each !== machine && world.etcd.isHealthy(each)).length;
  return others >= needed(total)
    ? undefined
    : `${machine.name} is rebooted while ${others} of the other ${total - 1} members serve`;
}

function lost({ world }: Moment): string | undefined {
  const total = world.etcd.members.filter((member) => !member.learner).length;
  if (total < 3) return undefined;
  const healthy = world.planes().filter((each) => world.etcd.isHealthy(each)).length;
  return healthy >= needed(total) ? undefined : `${healthy} of ${total} members of etcd serve`;
}

function shakenHands({ world }: Moment): string | undefined {
  const running = world.planes().filter((machine) => machine.plane?.etcd.isRunning === true);
  for (const a of running) {
    for (const b of running) {
      if (!world.etcd.canDial(a, b)) return `a new connection between etcd on ${a.name} and ${b.name} would be refused`;
    }
    const { plane } = a;
    if (plane?.apiServer.isRunning === true && !plane.apiServer.etcdPool.includes(plane.etcdLeaf)) {
      return `the API server of ${a.name} would refuse a new connection to its etcd`;
    }
  }
  return undefined;
}
