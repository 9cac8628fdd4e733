import { randomUUID } from 'node:crypto';
import type { ApplyMode } from '../../../pkg/talos/index.ts';
import {
  type ApplyConfigurationRequest,
  ApplyConfigurationRequest_Mode,
  type ApplyConfigurationResponse,
  MachineServiceService,
  MemoryResponse,
  ProcessesResponse,
  type ServiceInfo,
  SystemStatResponse,
} from '../../../proto/generated/talos/machine.ts';
import { applyConfiguration, beginReboot, containersOf, restartKubelet } from '../../simulator/index.ts';
import type { Boot } from './boot.ts';
import { differenceOf } from './difference.ts';
import { type Call, CODE, GrpcError, type Route, unary } from './grpc.ts';
import type { ServiceRecord } from './service-log.ts';
import { answering, type Session } from './session.ts';
import { checkFields } from './strict.ts';

const MODES = Object.fromEntries(
  Object.entries(ApplyConfigurationRequest_Mode).map(([name, mode]) => [mode, name as ApplyMode]),
);

/** What the machine itself answers: version, configuration, reboot, services, and what it runs. */
export const MACHINE_ROUTES: readonly Route<Session>[] = [
  unary(MachineServiceService.version, ({ boot }: Session) => ({
    messages: [
      {
        metadata: undefined,
        version: {
          tag: `v${boot.machine.version}`,
          sha: 'simulated',
          built: '',
          goVersion: '',
          os: 'linux',
          arch: 'amd64',
        },
        platform: { name: 'metal', mode: 'metal' },
        features: { rbac: true },
      },
    ],
  })),
  unary(MachineServiceService.hostname, ({ boot }: Session) => ({
    messages: [{ metadata: undefined, hostname: boot.machine.name }],
  })),
  unary(MachineServiceService.applyConfiguration, apply),
  unary(MachineServiceService.reboot, ({ boot }: Session, _request, call) => {
    const actorId = randomUUID();
    void rebootAfter(boot, actorId, call);
    return { messages: [{ metadata: undefined, actorId }] };
  }),
  unary(MachineServiceService.serviceList, ({ boot }: Session) => ({
    messages: [{ metadata: undefined, services: boot.services.list().map(serviceInfo) }],
  })),
  unary(MachineServiceService.serviceStart, (session: Session, { id }) => {
    mayControl(session, id, 'start');
    return { messages: [{ metadata: undefined, resp: `Service "${id}" started` }] };
  }),
  unary(MachineServiceService.serviceStop, (session: Session, { id }) => {
    mayControl(session, id, 'stop');
    throw new GrpcError(CODE.unknown, `service "${id}" doesn't support stop operation via API`);
  }),
  unary(MachineServiceService.serviceRestart, (session: Session, { id }) => {
    mayControl(session, id, 'restart');
    const { lab, machine } = session.boot;
    restartKubelet(lab.world, machine);
    lab.changed();
    return { messages: [{ metadata: undefined, resp: `Service "${id}" restarted` }] };
  }),
  unary(MachineServiceService.containers, ({ boot }: Session, { namespace }) => {
    if (namespace === '') throw new GrpcError(CODE.invalidArgument, 'namespace is required');
    return { messages: [{ metadata: undefined, containers: namespace === 'k8s.io' ? containers(boot) : [] }] };
  }),
  unary(MachineServiceService.processes, ({ boot }: Session) =>
    ProcessesResponse.fromPartial({
      messages: [
        {
          processes: boot.services
            .list()
            .filter(({ state }) => state === 'Running')
            .map(({ id }, index) => ({
              pid: index + 2,
              ppid: 1,
              state: 'S',
              threads: 1,
              command: id,
              executable: id,
              args: id,
            })),
        },
      ],
    }),
  ),
  unary(MachineServiceService.memory, () =>
    MemoryResponse.fromPartial({ messages: [{ meminfo: { memtotal: 4_194_304n, memfree: 2_097_152n } }] }),
  ),
  unary(MachineServiceService.systemStat, ({ boot }: Session) =>
    SystemStatResponse.fromPartial({ messages: [{ bootTime: BigInt(bootTimeOf(boot)) }] }),
  ),
];

/** When the kernel came up, whole seconds since the epoch. */
export function bootTimeOf({ startedAt }: Session['boot']): number {
  return Math.floor(startedAt / 1_000);
}

function apply({ boot }: Session, request: ApplyConfigurationRequest): ApplyConfigurationResponse {
  const { lab, machine } = boot;
  const asked = {
    config: textOf(request.data),
    mode: MODES[request.mode] ?? 'REBOOT',
    dryRun: request.dryRun,
    ...(request.tryModeTimeout && {
      tryTimeoutMs: Number(request.tryModeTimeout.seconds) * 1_000 + request.tryModeTimeout.nanos / 1_000_000,
    }),
  };
  const before = machine.config;
  const result = answering(() => {
    // The mode comes first, as in Talos: REBOOT is not there whatever the configuration.
    if (asked.mode !== 'REBOOT') checkFields(asked.config);
    return applyConfiguration(lab.world, machine, asked);
  });
  if (!asked.dryRun) lab.changed();
  const difference = asked.dryRun ? `\nConfig diff:\n\n${differenceOf(before, asked.config)}` : '';
  return {
    messages: [
      {
        metadata: undefined,
        warnings: [...result.warnings],
        mode: ApplyConfigurationRequest_Mode[result.mode],
        modeDetails: result.details + difference,
      },
    ],
  };
}

/** How long a machine waits for who asked for its reboot to read the reply. */
const REPLY_READ_MS = 5_000;

/** Real machines take seconds to go down, so that the reply is always read; how quick a lab is must not change that. */
async function rebootAfter({ lab, machine, id, expectReboot }: Boot, actorId: string, call: Call): Promise<void> {
  const tooLate = new AbortController();
  const read = call.over().then(() => tooLate.abort());
  await Promise.race([read, lab.world.clock.sleep(REPLY_READ_MS, tooLate.signal).catch(() => undefined)]);
  if (machine.isRebooting || machine.bootId !== id) return;
  expectReboot(actorId);
  beginReboot(lab.world, machine);
  lab.changed();
}

function textOf(data: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new GrpcError(CODE.invalidArgument, 'the configuration is not UTF-8 text');
  }
}

/** Only the kubelet can be started and restarted through the API (`internal/app/machined/pkg/system/services`). */
function mayControl({ boot }: Session, id: string, operation: 'start' | 'stop' | 'restart'): void {
  if (boot.services.find(id) === undefined) throw new GrpcError(CODE.unknown, `service "${id}" not defined`);
  if (id === 'kubelet' && operation !== 'stop') return;
  throw new GrpcError(CODE.unknown, `service "${id}" doesn't support ${operation} operation via API`);
}

function serviceInfo(record: ServiceRecord): ServiceInfo {
  return {
    id: record.id,
    state: record.state,
    events: { events: record.events.map(({ state, message, at }) => ({ msg: message, state, ts: new Date(at) })) },
    health: {
      unknown: record.healthy === undefined,
      healthy: record.healthy ?? false,
      lastMessage: record.healthMessage,
      lastChange: new Date(record.healthChangedAt),
    },
  };
}

function containers({ machine }: Session['boot']) {
  return containersOf(machine).flatMap(({ id, podId, name, image, pid, status }) => {
    const shared = { namespace: 'k8s.io', image, podId, networkNamespace: '', internalId: '', uid: '' };
    return [
      { ...shared, id: podId, pid: 0, status: 'SANDBOX_READY', name: podId.split('/')[1] ?? '' },
      { ...shared, id, pid, status, name },
    ];
  });
}
