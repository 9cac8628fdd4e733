import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { isApiServerReady } from '../transitions.ts';

/** S11: one machine reboots at a time, and only behind the marker that names it and the boot it leaves. */
export function oneGate(): Checker {
  const rebooting = new Set<string>();
  return {
    property: 'S11 one gate',
    check(moment) {
      forgetWhoLeft(moment, rebooting);
      for (const machine of moment.world.planes()) {
        if (!machine.isRebooting) rebooting.delete(machine.name);
        else if (!rebooting.has(machine.name)) {
          rebooting.add(machine.name);
          const why = isForeign(moment, machine)
            ? undefined
            : (unmarked(moment, machine, rebooting) ?? unprepared(moment, machine));
          if (why !== undefined) return why;
        }
      }
      return undefined;
    },
  };
}

function forgetWhoLeft({ world }: Moment, rebooting: Set<string>): void {
  for (const name of rebooting) if (world.find(name) === undefined) rebooting.delete(name);
}

function isForeign({ scenario }: Moment, machine: SimMachine): boolean {
  return (scenario.happenings ?? []).some((each) => 'machine' in each && each.machine === machine.name);
}

function unmarked({ operation }: Moment, machine: SimMachine, rebooting: ReadonlySet<string>): string | undefined {
  const marker = operation?.status.caRotation;
  if (marker?.etcdRebooting !== machine.name) {
    return `${machine.name} reboots for us while the marker names ${marker?.etcdRebooting ?? 'nobody'}`;
  }
  if (marker.etcdRebootBootID !== machine.bootId)
    return `${machine.name} reboots out of another boot than the marker says`;
  const others = [...rebooting].filter((name) => name !== machine.name);
  return others.length > 0 ? `${machine.name} reboots while ${others.join(', ')} is away` : undefined;
}

/** What is asked before a reboot, seen from outside: pods are gone, the configuration is kept, everybody else is well. */
function unprepared({ world, faults }: Moment, machine: SimMachine): string | undefined {
  // A reboot that was under way for long meets another cluster than the one that was looked at.
  if (faults.fired.length > 0) return undefined;
  const { name } = machine;
  if (machine.node?.unschedulable !== true) return `${name} is rebooted and was not cordoned`;
  const pod = world.kubernetes.workloads.pods.find((each) => each.owner === 'Deployment' && each.node === name);
  if (pod !== undefined) return `${name} is rebooted while ${pod.name} runs on it`;
  if (machine.persistent !== machine.config) return `${name} is rebooted and keeps another configuration than it runs`;
  if (world.etcd.alarms.length > 0) return `${name} is rebooted while etcd raises ${world.etcd.alarms.join()}`;
  if (world.etcd.members.some((member) => member.learner)) return `${name} is rebooted while etcd has a learner`;
  const unready = world.planes().find((each) => each !== machine && !isApiServerReady(world, each));
  if (unready !== undefined) return `${name} is rebooted while the API server of ${unready.name} is not ready`;
  const lost = world.machines().find((each) => each.node?.ready === 'Unknown');
  return lost === undefined ? undefined : `${name} is rebooted while the Node of ${lost.name} is lost`;
}
