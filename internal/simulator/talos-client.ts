import { type Certificate, type Fingerprint, Secret } from '../../pkg/pki/index.ts';
import {
  type CallOptions,
  type Identity,
  type ResourceKind,
  TalosError,
  type TalosErrorKind,
  type TalosMachine,
} from '../../pkg/talos/index.ts';
import { type FaultPlan, never, type SimProcess } from './faults.ts';
import { issueKubeconfig } from './kubeconfig.ts';
import { minorOf, type SimMachine, viewOf } from './machine.ts';
import type { Mint } from './mint.ts';
import { specOf } from './resources.ts';
import { beginReboot, storeConfiguration } from './transitions.ts';
import type { World } from './world.ts';

/** Everything that a client of a simulated machine needs. */
export interface TalosClientOptions {
  readonly world: World<Mint>;
  readonly process: SimProcess;
  readonly faults: FaultPlan;
  readonly name: string;
  readonly address: string;
  readonly identity: Identity;
}

const READ_MS = 10_000;
const CHANGE_MS = 30_000;

/** The Talos API of one simulated machine, with the handshake, the permissions and the refusals of the real one. */
export function createSimTalos(options: TalosClientOptions): TalosMachine {
  const { world, process, faults, name, address } = options;
  let { identity } = options;
  /** Boot in which a connection was made; such a connection is not verified again. */
  let connection: string | undefined;

  function fail(call: string, kind: TalosErrorKind, detail: string): TalosError {
    return new TalosError({ kind, machine: name, call, outcome: 'not-done', detail });
  }

  /** The machine, if it lets us in. */
  function enter(call: string, fresh = false): SimMachine {
    const machine = world.at(address);
    if (machine === undefined || !machine.isUp || machine.isCutOff) {
      connection = undefined;
      throw fail(call, 'unreachable', `connect ECONNREFUSED ${address}:50000`);
    }
    if (!fresh && connection === machine.bootId) return machine;
    if (!holds(identity.trust, machine.api.issuer)) {
      throw fail(call, 'untrusted-server', `its certificate is by ${machine.api.issuer.slice(0, 12)}`);
    }
    const issuer = world.mint.issuerOf(identity.credentials.certificate);
    if (issuer === undefined || !holds(machine.api.accepted, issuer)) {
      throw fail(call, 'untrusted-client', 'remote error: tls: unknown certificate authority');
    }
    if (!fresh) connection = machine.bootId;
    return machine;
  }

  async function read<T>(call: string, options: CallOptions | undefined, take: (machine: SimMachine) => T): Promise<T> {
    if (process.isDead) return never();
    return take(enter(call, options?.fresh));
  }

  function plane(call: string, machine: SimMachine): NonNullable<SimMachine['plane']> {
    if (machine.plane === undefined) throw fail(call, 'unsupported', 'this machine is a worker');
    return machine.plane;
  }

  function etcd<T>(call: string, options: CallOptions | undefined, take: (machine: SimMachine) => T): Promise<T> {
    return read(call, options, (machine) => {
      if (!plane(call, machine).etcd.isRunning) throw fail(call, 'refused', 'etcd is not running');
      if (!world.etcd.isHealthy(machine)) throw fail(call, 'timeout', 'context deadline exceeded');
      return take(machine);
    });
  }

  /** A mutating call: entered now, and only landing in the boot that it was sent to. */
  async function change<T>(
    call: string,
    options: CallOptions | undefined,
    perform: (machine: SimMachine) => T,
  ): Promise<T> {
    if (process.isDead) return never();
    const { bootId } = enter(call, options?.fresh);
    const deadlineMs = options?.deadlineMs ?? CHANGE_MS;
    const reach = (): SimMachine => {
      const machine = world.at(address);
      if (machine === undefined || !machine.isUp || machine.bootId !== bootId) {
        throw fail(call, 'unreachable', 'connection refused');
      }
      return machine;
    };
    return faults.make(process, {
      name: `${call} ${world.at(address)?.name ?? name}`,
      deadlineMs,
      perform: () => perform(reach()),
      canLand: () => world.at(address)?.bootId === bootId && world.at(address)?.isUp === true,
      refusal: () => fail(call, 'locked', 'another sequence is running'),
      silence: () =>
        new TalosError({ kind: 'timeout', machine: name, call, outcome: 'unknown', detail: 'deadline exceeded' }),
    });
  }

  const unsupported = (call: string) => (): never => {
    throw fail(call, 'unsupported', 'the simulated machine does not have this call');
  };

  return {
    name,
    address,
    port: 50_000,
    version: (call) =>
      read('Version', call, ({ version }) => ({
        tag: `v${version}`,
        arch: 'amd64',
        platform: 'metal',
        mode: 'metal',
        rbac: true,
      })),
    time: (call) =>
      read('Time', call, () => ({
        remote: world.clock.now(),
        sentAt: world.clock.now(),
        receivedAt: world.clock.now(),
      })),
    configuration: (which, call) =>
      read('Get MachineConfigs', call, (machine) => ({
        config: Secret.of('machine-config', which === 'active' ? machine.config : machine.persistent),
        version: machine.versions.get(`MachineConfig/${which}`) ?? 1n,
      })),
    apply: (request, call) => {
      if (request.dryRun === true) {
        return read('ApplyConfiguration', call, (machine) => {
          checkApply(machine, request, fail);
          return {
            mode: request.mode,
            warnings: [],
            details: 'dry run',
            changes: request.config.expose() !== machine.config,
          };
        });
      }
      return change('ApplyConfiguration', call, (machine) => {
        checkApply(machine, request, fail);
        storeConfiguration(world, machine, request.config.expose(), { staged: request.mode === 'STAGED' });
        const mode = request.mode === 'AUTO' ? 'NO_REBOOT' : request.mode;
        return { mode, warnings: [], details: 'Applied configuration without a reboot' };
      });
    },
    services: (call) => read('ServiceList', call, (machine) => servicesOf(world, machine)),
    restartService: async () => unsupported('ServiceRestart')(),
    etcd: {
      members: (call) =>
        etcd('EtcdMemberList', call, () =>
          world.etcd.members.map(({ id, name: member, learner }) => ({
            id: id as never,
            name: member,
            peerUrls: [],
            clientUrls: [],
            learner,
          })),
        ),
      status: (call) =>
        etcd('EtcdStatus', call, (machine) => ({
          memberId: memberIdOf(world, machine.name) as never,
          leader: (world.etcd.leader === undefined ? undefined : memberIdOf(world, world.etcd.leader)) as never,
          learner: false,
          raftTerm: 1n,
          raftIndex: 1n,
          raftAppliedIndex: 1n,
          databaseBytes: 1n,
          databaseBytesInUse: 1n,
          errors: [],
          storageVersion: '3.6',
        })),
      alarms: (call) =>
        etcd('EtcdAlarmList', call, (machine) =>
          world.etcd.alarms.map((alarm) => ({
            memberId: memberIdOf(world, machine.name) as never,
            alarm: alarm as never,
          })),
        ),
      forfeitLeadership: (call) => change('EtcdForfeitLeadership', call, (machine) => world.etcd.forfeit(machine)),
      snapshot: unsupported('EtcdSnapshot'),
    },
    reboot: (_mode, call) =>
      change('Reboot', call, (machine) => {
        beginReboot(world, machine);
        return { actorId: `${machine.bootId}/reboot` };
      }),
    bootId: (call) => read('Get BootIDs', call, (machine) => machine.bootId),
    containers: (call) => read('Containers', call, containersOf),
    get: async <Spec>(kind: ResourceKind<Spec>, call?: CallOptions & { readonly id?: string }) =>
      read(`Get ${kind.type}`, call, (machine) => {
        const found = specOf(world, machine, kind.type);
        if (found === undefined) return undefined;
        return {
          metadata: {
            namespace: kind.namespace,
            type: kind.type,
            id: call?.id ?? kind.id ?? '',
            version: machine.versions.get(found.name) ?? 1n,
            phase: 'running' as const,
            owner: 'simulator',
            created: world.clock.now(),
            updated: world.clock.now(),
            finalizers: [],
            labels: {},
            annotations: {},
          },
          spec: found.spec as Spec,
        };
      }),
    list: async () => unsupported('List')(),
    watch: unsupported('Watch'),
    kubeconfig: (call) =>
      read('Kubeconfig', call, (machine) => {
        if (machine.taken.kubernetes === undefined) throw fail('Kubeconfig', 'unsupported', 'this machine is a worker');
        return issueKubeconfig(world.mint, machine.taken.kubernetes, address);
      }),
    issueClient: async () => unsupported('GenerateClientConfiguration')(),
    readFile: async () => unsupported('Read')(),
    events: unsupported('Events'),
    use(next) {
      identity = next;
      connection = undefined;
    },
    reconnect() {
      connection = undefined;
    },
    close() {
      connection = undefined;
    },
  };
}

/** Longest time for a read; reads of a simulated machine take none. */
export const READ_DEADLINE_MS = READ_MS;

function holds(certificates: readonly Certificate[], fingerprint: Fingerprint): boolean {
  return certificates.some((certificate) => certificate.fingerprint === fingerprint);
}

function checkApply(
  machine: SimMachine,
  request: Parameters<TalosMachine['apply']>[0],
  fail: (call: string, kind: TalosErrorKind, detail: string) => TalosError,
): void {
  if (machine.isRebooting) throw fail('ApplyConfiguration', 'locked', 'the machine is rebooting');
  if (request.mode === 'REBOOT' && minorOf(machine) >= 14)
    throw fail('ApplyConfiguration', 'unsupported', 'mode REBOOT');
  let role: string;
  try {
    ({ role } = viewOf(request.config.expose(), machine.name));
  } catch (error) {
    throw fail('ApplyConfiguration', 'invalid', error instanceof Error ? error.message : 'no configuration');
  }
  if (role !== machine.role) throw fail('ApplyConfiguration', 'invalid', `the machine type cannot become ${role}`);
}

function memberIdOf(world: World, name: string): string {
  return world.etcd.members.find((member) => member.name === name)?.id ?? '0'.repeat(16);
}

function servicesOf(world: World, machine: SimMachine) {
  const now = world.clock.monotonic();
  const service = (id: string, isRunning: boolean, healthy: boolean) => ({
    id,
    state: isRunning ? 'Running' : 'Stopping',
    healthy: isRunning ? healthy : undefined,
    healthMessage: '',
    events: [],
  });
  const { kubelet, plane } = machine;
  return [
    service('kubelet', kubelet.isRunning, now >= kubelet.readyAt),
    ...(plane === undefined ? [] : [service('etcd', plane.etcd.isRunning, world.etcd.isHealthy(machine))]),
  ];
}

function containersOf({ name, plane }: SimMachine) {
  if (plane === undefined) return [];
  const processes = {
    'kube-apiserver': plane.apiServer,
    'kube-controller-manager': plane.controllerManager,
    'kube-scheduler': plane.scheduler,
  };
  return Object.entries(processes).flatMap(([container, { isRunning, instance }]) => {
    const podId = `kube-system/${container}-${name}`;
    if (!isRunning) return [];
    return [
      {
        id: `${podId}:${container}:${instance.toString(16).padStart(12, '0')}`,
        podId,
        name: container,
        image: container,
        pid: instance,
        status: 'CONTAINER_RUNNING',
        sandbox: false,
      },
    ];
  });
}
