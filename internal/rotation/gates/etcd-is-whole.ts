import { type Context, controlPlanes, isKnown, type KnownMachine } from '../context.ts';
import type { Blocker } from '../decision.ts';

/**
 * etcd is whole: every control plane's etcd Running and healthy, a leader seen,
 * exactly one voting member per control plane, no alarm, asked on each machine
 * (a working API says nothing about etcd: `measured`). Members are compared by
 * ID, because a name may be learned late.
 */
export function etcdIsWhole(context: Context): Blocker | undefined {
  const unknown = controlPlanes(context).find((machine) => !isKnown(machine));
  if (unknown !== undefined) return notWhole(`etcd on ${unknown.name} does not say how it is: the machine is unknown`);
  const machines = controlPlanes(context).filter(isKnown);
  const ids = machines.map((machine) =>
    machine.talos.value.etcd?.known ? machine.talos.value.etcd.value.memberId : '',
  );
  for (const machine of machines) {
    const blocker = memberIsWhole(machine, ids);
    if (blocker !== undefined) return blocker;
  }
  return undefined;
}

function memberIsWhole(machine: KnownMachine, ids: readonly string[]): Blocker | undefined {
  const { etcdService, etcd } = machine.talos.value;
  const where = `etcd on ${machine.name}`;
  if (etcdService?.running !== true) return notWhole(`${where} is not running; expected Running and healthy`);
  if (!etcdService.healthy) return notWhole(`${where} is running but not healthy; expected healthy`);
  if (etcd === undefined || !etcd.known)
    return notWhole(`${where} does not say how it is: ${etcd?.message ?? 'not asked'}`);
  const { members, leaderId, alarms, memberId } = etcd.value;
  if (alarms.length > 0)
    return { reason: 'EtcdAlarm', message: `${where} reports ${alarms.join(', ')}; expected no alarm` };
  if (leaderId === undefined) return notWhole(`${where} sees no leader`);
  const learner = members.find((member) => member.learner);
  if (learner !== undefined)
    return notWhole(`${where} lists ${learner.name || learner.id} as a learner; expected voters only`);
  if (members.length !== ids.length) {
    return notWhole(`${where} lists ${members.length} members for ${ids.length} control planes; expected one each`);
  }
  if (!members.some((member) => member.id === memberId)) return notWhole(`${where} does not list itself (${memberId})`);
  const stranger = members.find((member) => !ids.includes(member.id));
  if (stranger !== undefined) {
    return notWhole(
      `${where} lists ${stranger.name || 'a member'} (${stranger.id}), which is no control plane that answers`,
    );
  }
  return undefined;
}

function notWhole(message: string): Blocker {
  return { reason: 'EtcdNotWhole', message };
}
