import { Empty } from '../../../proto/generated/google/protobuf/empty.ts';
import {
  EtcdForfeitLeadershipRequest,
  EtcdMemberAlarm_AlarmType,
  EtcdMemberListRequest,
  EtcdSnapshotRequest,
  MachineServiceService,
} from '../../../proto/generated/talos/machine.ts';
import type { EtcdAlarm, EtcdMemberId, TalosEtcd } from '../machine.ts';
import { TransportFailure } from '../transport/failure.ts';
import { type CallContext, only, refuseError } from './context.ts';

/** The text form in which Talos and etcdctl print a member ID. */
function memberId(id: bigint): EtcdMemberId {
  return id.toString(16).padStart(16, '0') as EtcdMemberId;
}

function alarmName(type: EtcdMemberAlarm_AlarmType): EtcdAlarm['alarm'] | undefined {
  if (type === EtcdMemberAlarm_AlarmType.NONE) return undefined;
  if (type === EtcdMemberAlarm_AlarmType.NOSPACE) return 'NOSPACE';
  return type === EtcdMemberAlarm_AlarmType.CORRUPT ? 'CORRUPT' : 'UNRECOGNIZED';
}

/** etcd, through the machine that runs it. */
export function createEtcdCalls({ invoker, deadlines }: CallContext): TalosEtcd {
  return {
    async members(options) {
      const kind = { call: 'EtcdMemberList', deadlineMs: deadlines.readMs };
      // Local: what this machine's etcd says, not what another one does.
      const request = EtcdMemberListRequest.fromPartial({ queryLocal: true });
      const reply = await invoker.unary(MachineServiceService.etcdMemberList, request, kind, options);
      return only(invoker, kind, reply.messages).members.map((member) => ({
        id: memberId(member.id),
        name: member.hostname,
        peerUrls: member.peerUrls,
        clientUrls: member.clientUrls,
        learner: member.isLearner,
      }));
    },

    async status(options) {
      const kind = { call: 'EtcdStatus', deadlineMs: deadlines.readMs };
      const reply = await invoker.unary(MachineServiceService.etcdStatus, Empty.create(), kind, options);
      const status = only(invoker, kind, reply.messages).memberStatus;
      if (status === undefined) {
        throw invoker.failure(kind, new TransportFailure('malformed', 'not-done', 'the reply holds no status'));
      }
      return {
        memberId: memberId(status.memberId),
        leader: status.leader === 0n ? undefined : memberId(status.leader),
        learner: status.isLearner,
        raftTerm: status.raftTerm,
        raftIndex: status.raftIndex,
        raftAppliedIndex: status.raftAppliedIndex,
        databaseBytes: status.dbSize,
        databaseBytesInUse: status.dbSizeInUse,
        errors: status.errors,
        storageVersion: status.storageVersion,
      };
    },

    async alarms(options) {
      const kind = { call: 'EtcdAlarmList', deadlineMs: deadlines.readMs };
      const reply = await invoker.unary(MachineServiceService.etcdAlarmList, Empty.create(), kind, options);
      return only(invoker, kind, reply.messages).memberAlarms.flatMap((entry) => {
        const alarm = alarmName(entry.alarm);
        return alarm === undefined ? [] : [{ memberId: memberId(entry.memberId), alarm }];
      });
    },

    async forfeitLeadership(options) {
      const kind = { call: 'EtcdForfeitLeadership', deadlineMs: deadlines.changeMs, change: true };
      const request = EtcdForfeitLeadershipRequest.create();
      const reply = await invoker.unary(MachineServiceService.etcdForfeitLeadership, request, kind, options);
      const { member } = only(invoker, kind, reply.messages);
      return member === '' ? undefined : member;
    },

    async *snapshot(options) {
      const kind = { call: 'EtcdSnapshot', deadlineMs: deadlines.streamMs };
      const request = EtcdSnapshotRequest.create();
      for await (const chunk of invoker.stream(MachineServiceService.etcdSnapshot, request, kind, options)) {
        refuseError(invoker, kind, chunk);
        yield chunk.bytes;
      }
    },
  };
}
