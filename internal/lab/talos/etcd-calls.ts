import type { Empty } from '../../../proto/generated/google/protobuf/empty.ts';
import { EtcdMemberAlarm_AlarmType, MachineServiceService } from '../../../proto/generated/talos/machine.ts';
import { etcdAlarms, etcdMembers, etcdStatus, planeOf } from '../../simulator/index.ts';
import { type Call, CODE, GrpcError, type Route, streaming, unary } from './grpc.ts';
import { answering, type Session } from './session.ts';
import { snapshotOf } from './snapshot.ts';

/** How long an etcd without a leader lets a caller wait who sets no deadline of his own. */
const PATIENCE_MS = 5_000;

/** etcd through the machine that runs it. */
export const ETCD_ROUTES: readonly Route<Session>[] = [
  unary(MachineServiceService.etcdMemberList, async (session: Session, _request, call) => {
    const members = await served(session, call, () => etcdMembers(session.boot.lab.world, session.boot.machine));
    return {
      messages: [
        {
          metadata: undefined,
          legacyMembers: members.map(({ name }) => name),
          members: members.map(({ id, name, peerUrls, clientUrls, learner }) => ({
            id: numberOf(id),
            hostname: name,
            peerUrls: [...peerUrls],
            clientUrls: [...clientUrls],
            isLearner: learner,
          })),
        },
      ],
    };
  }),
  unary(MachineServiceService.etcdStatus, async (session: Session, _request, call) => {
    const status = await served(session, call, () => etcdStatus(session.boot.lab.world, session.boot.machine));
    return {
      messages: [
        {
          metadata: undefined,
          memberStatus: {
            protocolVersion: `${status.storageVersion}.12`,
            storageVersion: `${status.storageVersion}.0`,
            dbSize: status.databaseBytes,
            dbSizeInUse: status.databaseBytesInUse,
            leader: status.leader === undefined ? 0n : numberOf(status.leader),
            raftIndex: status.raftIndex,
            raftTerm: status.raftTerm,
            raftAppliedIndex: status.raftAppliedIndex,
            errors: [...status.errors],
            isLearner: status.learner,
            memberId: numberOf(status.memberId),
          },
        },
      ],
    };
  }),
  unary(MachineServiceService.etcdAlarmList, async (session: Session, _request, call) => ({
    messages: [{ metadata: undefined, memberAlarms: await alarms(session, call) }],
  })),
  unary(MachineServiceService.etcdAlarmDisarm, async (session: Session, _request, call) => {
    const disarmed = await alarms(session, call);
    session.boot.lab.world.etcd.alarms = [];
    session.boot.lab.changed();
    return { messages: [{ metadata: undefined, memberAlarms: disarmed }] };
  }),
  unary(MachineServiceService.etcdDefragment, async (session: Session, _request: Empty, call) => {
    await served(session, call, () => etcdStatus(session.boot.lab.world, session.boot.machine));
    return { messages: [{ metadata: undefined }] };
  }),
  unary(MachineServiceService.etcdForfeitLeadership, async (session: Session, _request, call) => {
    const { lab, machine } = session.boot;
    const members = await served(session, call, () => etcdMembers(lab.world, machine));
    if (members.length === 1) {
      const why = 'failed to forfeit leadership: cannot forfeit leadership, only one member';
      throw new GrpcError(CODE.unknown, why);
    }
    const member = lab.world.etcd.forfeit(machine) ?? '';
    lab.changed();
    return { messages: [{ metadata: undefined, member }] };
  }),
  streaming(MachineServiceService.etcdSnapshot, async function* (session: Session, _request, call) {
    const { lab, machine } = session.boot;
    const { storageVersion } = await served(session, call, () => etcdStatus(lab.world, machine));
    for (const bytes of chunksOf(snapshotOf(`${storageVersion}.0`))) yield { metadata: undefined, bytes };
  }),
];

/** Talos streams files in pieces of this size (`pkg/chunker/stream`). */
const CHUNK_BYTES = 1_024;

/** The pieces in which Talos sends bytes. */
export function* chunksOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += CHUNK_BYTES) yield content.subarray(at, at + CHUNK_BYTES);
}

/** An etcd without a leader answers when one is there, or not at all. */
async function served<T>({ boot }: Session, call: Call, run: () => T): Promise<T> {
  const { lab, machine } = boot;
  answering(() => planeOf(machine, call.path.split('/').at(-1) ?? ''));
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return answering(run);
    } catch (error) {
      const isHanging = error instanceof GrpcError && error.code === CODE.deadlineExceeded;
      if (!isHanging || call.signal.aborted || performance.now() > end) throw error;
      await lab.world.clock.sleep(200, call.signal);
    }
  }
}

async function alarms(session: Session, call: Call) {
  const found = await served(session, call, () => etcdAlarms(session.boot.lab.world, session.boot.machine));
  return found.map(({ memberId, alarm }) => ({
    memberId: numberOf(memberId),
    alarm: EtcdMemberAlarm_AlarmType[alarm === 'CORRUPT' ? 'CORRUPT' : 'NOSPACE'],
  }));
}

function numberOf(id: string): bigint {
  return BigInt(`0x${id}`);
}
