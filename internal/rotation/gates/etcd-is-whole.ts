import { type Context, controlPlanes, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';
import type { EtcdReading, MachineObservation } from '../observation.ts';

/**
 * etcd is whole: every control plane's etcd Running and healthy, a leader seen,
 * exactly one voting member per control plane, no alarm, asked on each machine
 * (a working API says nothing about etcd: `measured`). Each machine is asked for
 * itself first, so that the message names the one that is unwell. Members are
 * compared by ID, because a name may be learned late. Of a machine that was left
 * behind only so much is asked as the others say of it.
 */
export function etcdIsWhole(context: Context): Blocker | undefined {
  const members: Member[] = [];
  const asked = controlPlanes(context).filter((machine) => !context.leftBehind?.has(machine.name));
  const left = controlPlanes(context).length - asked.length;
  for (const machine of asked) {
    const member = memberOn(machine);
    if ('reason' in member) return member;
    members.push(member);
  }
  const ids = members.map((member) => member.etcd.memberId);
  for (const member of members) {
    const blocker = listsTheOthers(member, ids, left);
    if (blocker !== undefined) return blocker;
  }
  return undefined;
}

interface Member {
  readonly where: string;
  readonly etcd: EtcdReading;
}

function memberOn(machine: MachineObservation): Member | Blocker {
  const where = `etcd on ${machine.name}`;
  const unwell = (how: string): Blocker => ({ ...notWhole(`${where} ${how}`), machines: [machine.name] });
  if (!isKnown(machine)) return unwell('does not say how it is: the machine is unknown');
  const { etcdService, etcd } = machine.talos.value;
  if (etcdService?.running !== true) return unwell('is not running; expected Running and healthy');
  if (!etcdService.healthy) return unwell('is running but not healthy; expected healthy');
  if (etcd === undefined || !etcd.known) return unwell(`does not say how it is: ${etcd?.message ?? 'not asked'}`);
  const { leaderId, alarms } = etcd.value;
  if (alarms.length > 0)
    return { reason: 'EtcdAlarm', message: `${where} reports ${alarms.join(', ')}; expected no alarm` };
  if (leaderId === undefined) return unwell('sees no leader');
  return { where, etcd: etcd.value };
}

function listsTheOthers({ where, etcd }: Member, ids: readonly string[], left: number): Blocker | undefined {
  const { memberId } = etcd;
  const strangers = etcd.members.filter((member) => !ids.includes(member.id));
  // Members that are not asked may be in the list, voting or not.
  const members = strangers.length <= left ? etcd.members.filter((each) => ids.includes(each.id)) : etcd.members;
  const learner = members.find((member) => member.learner);
  if (learner !== undefined)
    return notWhole(`${where} lists ${learner.name || learner.id} as a learner; expected voters only`);
  if (members.length !== ids.length) {
    const names = etcd.members.map((member) => member.name || member.id).join(', ');
    return notWhole(
      `${where} lists ${etcd.members.length} members (${names}) for ${ids.length + left} control planes; expected one each`,
    );
  }
  if (!members.some((member) => member.id === memberId)) return notWhole(`${where} does not list itself (${memberId})`);
  const stranger = members.find((member) => !ids.includes(member.id));
  if (stranger !== undefined) {
    return notWhole(`${where} lists ${stranger.name || 'a member'} (${stranger.id}), which is on no control plane`);
  }
  return undefined;
}

function notWhole(message: string): Blocker {
  return { reason: 'EtcdNotWhole', message };
}
