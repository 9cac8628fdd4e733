import type { AskedReboot } from '../call-log.ts';
import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { isApiServerReady } from '../transitions.ts';
import { registered } from './material.ts';
import { watchReboots } from './reboots.ts';

/** S11: one machine reboots at a time, and only behind the marker that names it and the boot it leaves. */
export function oneGate(): Checker {
  /** Machines that reboot because we asked for it. */
  const rebooting = new Set<string>();
  const reboots = watchReboots({
    asked: unprepared,
    begun(moment, { machine: name }) {
      rebooting.add(name);
      const machine = moment.world.find(name);
      return machine === undefined ? undefined : unmarked(moment, machine, rebooting);
    },
  });
  return {
    property: 'S11 one gate',
    check(moment) {
      for (const name of rebooting) if (moment.world.find(name)?.isRebooting !== true) rebooting.delete(name);
      return reboots.look(moment);
    },
  };
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
function unprepared({ world }: Moment, { machine: name }: AskedReboot): string | undefined {
  const machine = world.find(name);
  if (machine === undefined) return undefined;
  const why = (what: string): string => `${name} is to reboot ${what}`;
  if (machine.node?.unschedulable !== true) return why('and was not cordoned');
  const pod = world.kubernetes.workloads.pods.find((each) => each.owner === 'Deployment' && each.node === name);
  if (pod !== undefined) return why(`while ${pod.name} runs on it`);
  if (machine.persistent !== machine.config) return why('and keeps another configuration than it runs');
  if (world.etcd.alarms.length > 0) return why(`while etcd raises ${world.etcd.alarms.join()}`);
  if (world.etcd.members.some((member) => member.learner)) return why('while etcd has a learner');
  const others = registered(world).filter((each) => each !== machine);
  const away = others.find((each) => !each.isUp || each.isCutOff);
  if (away !== undefined) return why(`while ${away.name} is away`);
  const unready = others.find((each) => each.plane !== undefined && !isApiServerReady(world, each));
  if (unready !== undefined) return why(`while the API server of ${unready.name} is not ready`);
  const lost = others.find((each) => each.node?.ready === 'Unknown');
  return lost === undefined ? undefined : why(`while the Node of ${lost.name} is lost`);
}
