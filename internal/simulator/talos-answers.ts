import type {
  ApplyMode,
  ApplyResult,
  ContainerStatus,
  EtcdAlarm,
  EtcdMember,
  EtcdStatus,
  TalosErrorKind,
} from '../../pkg/talos/index.ts';
import type { SimMember } from './etcd.ts';
import { shared, sharedByAll } from './kube/shared.ts';
import { minorOf, type Running, type SimMachine, viewOf } from './machine.ts';
import { storeConfiguration, tryConfiguration } from './transitions.ts';
import { withoutStack } from './without-stack.ts';
import type { World } from './world.ts';

/**
 * What a simulated machine answers to the calls of the Talos API, whoever asks and
 * over whatever: the client of the search calls it in process, the servers of the
 * lab put it on the wire.
 */

/** A machine's refusal, before anything was done. */
export class Refusal extends Error {
  readonly kind: TalosErrorKind;

  constructor(kind: TalosErrorKind, message: string) {
    super(message);
    this.name = 'Refusal';
    this.kind = kind;
  }
}

function refusal(kind: TalosErrorKind, message: string): Refusal {
  return withoutStack(() => new Refusal(kind, message));
}

const WITHOUT_REBOOT = 'Applied configuration without a reboot';
const STAGED = 'Staged configuration to be applied after the next reboot';
/** Until a tried configuration is taken back, unless the request says otherwise (`constants.ConfigTryTimeout`). */
const TRY_MS = 60_000;

/** A request to apply a configuration. */
export interface ApplyAsked {
  readonly config: string;
  readonly mode: ApplyMode;
  readonly dryRun?: boolean;
  readonly tryTimeoutMs?: number;
}

/** Checks a configuration and, unless it is a dry run, takes it up. @throws {Refusal} */
export function applyConfiguration(world: World, machine: SimMachine, asked: ApplyAsked): ApplyResult {
  checkApply(machine, asked);
  const mode = asked.mode === 'AUTO' ? 'NO_REBOOT' : asked.mode;
  if (asked.dryRun === true) {
    const done = mode === 'STAGED' ? STAGED : WITHOUT_REBOOT;
    const details = `Dry run summary:\n${done} (skipped in dry-run).`;
    return { mode, warnings: [], details, changes: asked.config !== machine.config };
  }
  if (mode === 'TRY') {
    const timeoutMs = asked.tryTimeoutMs ?? TRY_MS;
    tryConfiguration(world, machine, asked.config, timeoutMs);
    const revert = `The config is applied in 'try' mode and will be automatically reverted back in ${timeoutMs / 1_000}s`;
    return { mode, warnings: [], details: `${WITHOUT_REBOOT}\n${revert}` };
  }
  storeConfiguration(world, machine, asked.config, { staged: mode === 'STAGED' });
  return { mode, warnings: [], details: mode === 'STAGED' ? STAGED : WITHOUT_REBOOT };
}

function checkApply(machine: SimMachine, { config, mode }: ApplyAsked): void {
  if (machine.isRebooting) throw refusal('locked', 'the machine is rebooting: another sequence holds the lock');
  if (mode === 'REBOOT' && minorOf(machine) >= 14) {
    throw refusal('unsupported', 'the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead');
  }
  let role: string;
  try {
    ({ role } = viewOf(config, machine.name));
  } catch (error) {
    throw refusal('invalid', error instanceof Error ? error.message : 'no configuration');
  }
  if (role !== machine.role) throw refusal('invalid', `the machine type cannot become ${role}`);
}

/**
 * A stored configuration. After a boot from disk there is no persistent one until
 * something is applied (seen on Talos 1.14.1). @throws {Refusal} `not-found` then
 */
export function configurationOf(
  machine: SimMachine,
  which: 'active' | 'persistent',
): { readonly config: string; readonly version: bigint } {
  const version = machine.versions.get(CONFIGURATIONS[which]);
  if (which === 'active') return { config: machine.config, version: version ?? 1n };
  if (version === undefined && machine.boot > 1) {
    throw refusal('not-found', "resource MachineConfigs.config.talos.dev(config/persistent@undefined) doesn't exist");
  }
  return { config: machine.persistent, version: version ?? 1n };
}

/** Names under which their versions are counted. */
const CONFIGURATIONS = { active: 'MachineConfig/active', persistent: 'MachineConfig/persistent' } as const;

/** The control plane of a machine. @throws {Refusal} `unsupported` on a worker */
export function planeOf(machine: SimMachine, call: string): NonNullable<SimMachine['plane']> {
  if (machine.plane !== undefined) return machine.plane;
  throw refusal('unsupported', `${call} is only available on control plane nodes`);
}

/** @throws {Refusal} where there is no etcd, or none that serves */
function servingEtcd(world: World, machine: SimMachine, call: string): void {
  if (!planeOf(machine, call).etcd.isRunning) throw refusal('refused', 'etcd is not running');
  if (!world.etcd.isHealthy(machine)) throw refusal('timeout', 'context deadline exceeded');
}

/** EtcdMemberList. @throws {Refusal} */
export function etcdMembers(world: World, machine: SimMachine): readonly EtcdMember[] {
  servingEtcd(world, machine, 'EtcdMemberList');
  // A change of the members is another list of them.
  const { members } = world.etcd;
  return membersOf(members, { members });
}

const membersOf = shared(({ members }: { readonly members: readonly SimMember[] }): readonly EtcdMember[] =>
  members.map(({ id, name, learner, address }) => {
    const url = (port: number): string[] => (address === undefined ? [] : [`https://${address}:${port}`]);
    return { id: id as EtcdMember['id'], name, peerUrls: url(2380), clientUrls: url(2379), learner };
  }),
);

/** EtcdStatus. @throws {Refusal} */
export function etcdStatus(world: World, machine: SimMachine): EtcdStatus {
  servingEtcd(world, machine, 'EtcdStatus');
  const { leader } = world.etcd;
  const memberId = memberIdOf(world, machine.name);
  return statusOf(machine, { memberId, leader: leader === undefined ? undefined : memberIdOf(world, leader) });
}

const statusOf = shared(
  (facts: Pick<EtcdStatus, 'memberId' | 'leader'>): EtcdStatus => ({
    ...facts,
    learner: false,
    raftTerm: 1n,
    raftIndex: 1n,
    raftAppliedIndex: 1n,
    databaseBytes: 1n,
    databaseBytesInUse: 1n,
    errors: [],
    storageVersion: '3.6',
  }),
);

/** EtcdAlarmList. @throws {Refusal} */
export function etcdAlarms(world: World, machine: SimMachine): readonly EtcdAlarm[] {
  servingEtcd(world, machine, 'EtcdAlarmList');
  const memberId = memberIdOf(world, machine.name);
  return world.etcd.alarms.map((alarm) => ({ memberId, alarm: alarm as EtcdAlarm['alarm'] }));
}

/** ID of a member by its name; zero where it is none. */
export function memberIdOf(world: World, name: string): EtcdMember['id'] {
  const id = world.etcd.members.find((member) => member.name === name)?.id ?? '0'.repeat(16);
  return id as EtcdMember['id'];
}

/** A service of machined at this moment. */
export interface ServiceFact {
  readonly id: string;
  /** Another one is another process. */
  readonly instance: number;
  readonly isRunning: boolean;
  /** Undefined where Talos has no check for it. */
  readonly isHealthy: boolean | undefined;
}

/** Every service of a machine, by ID. */
export function serviceFacts(world: World, machine: SimMachine): readonly ServiceFact[] {
  const { kubelet, plane, boot } = machine;
  const etcd = plane?.etcd;
  return servicesOf(machine, {
    boot,
    kubelet: kubelet.instance,
    isKubeletRunning: kubelet.isRunning,
    isKubeletHealthy: kubelet.isRunning ? world.clock.monotonic() >= kubelet.readyAt : undefined,
    etcd: etcd?.instance,
    isEtcdRunning: etcd?.isRunning === true,
    isEtcdHealthy: etcd?.isRunning === true ? world.etcd.isHealthy(machine) : undefined,
  });
}

interface ServicesFacts {
  readonly boot: number;
  readonly kubelet: number;
  readonly isKubeletRunning: boolean;
  readonly isKubeletHealthy: boolean | undefined;
  /** Undefined on workers. */
  readonly etcd: number | undefined;
  readonly isEtcdRunning: boolean;
  readonly isEtcdHealthy: boolean | undefined;
}

const servicesOf = sharedByAll(({ boot, kubelet, etcd, ...facts }: ServicesFacts): readonly ServiceFact[] => {
  const lasting = (id: string): ServiceFact => ({ id, instance: boot, isRunning: true, isHealthy: true });
  const ofPlane = (service: ServiceFact): ServiceFact[] => (etcd === undefined ? [] : [service]);
  const { isKubeletRunning, isKubeletHealthy, isEtcdRunning, isEtcdHealthy } = facts;
  // By ID, as Talos lists them.
  return [
    lasting('apid'),
    lasting('auditd'),
    lasting('containerd'),
    lasting('cri'),
    { id: 'dashboard', instance: boot, isRunning: true, isHealthy: undefined },
    ...ofPlane({ id: 'etcd', instance: etcd ?? 0, isRunning: isEtcdRunning, isHealthy: isEtcdHealthy }),
    { id: 'kubelet', instance: kubelet, isRunning: isKubeletRunning, isHealthy: isKubeletHealthy },
    lasting('machined'),
    lasting('syslogd'),
    ...ofPlane(lasting('trustd')),
    lasting('udevd'),
  ];
});

/** The containers of the static pods that run. */
export function containersOf({ name, plane }: SimMachine): readonly ContainerStatus[] {
  if (plane === undefined) return [];
  const instanceOf = ({ isRunning, instance }: Running): number | undefined => (isRunning ? instance : undefined);
  return podContainersOf(plane, {
    machine: name,
    apiServer: instanceOf(plane.apiServer),
    controllerManager: instanceOf(plane.controllerManager),
    scheduler: instanceOf(plane.scheduler),
  });
}

/** Instances of the static pods; undefined for one that does not run. */
interface PodsFacts {
  readonly machine: string;
  readonly apiServer: number | undefined;
  readonly controllerManager: number | undefined;
  readonly scheduler: number | undefined;
}

const podContainersOf = sharedByAll((facts: PodsFacts): readonly ContainerStatus[] => {
  const { machine, apiServer, controllerManager, scheduler } = facts;
  const instances = {
    'kube-apiserver': apiServer,
    'kube-controller-manager': controllerManager,
    'kube-scheduler': scheduler,
  };
  return Object.entries(instances).flatMap(([container, instance]) =>
    instance === undefined ? [] : [containerOf(machine, container, instance)],
  );
});

function containerOf(machine: string, container: string, instance: number): ContainerStatus {
  const podId = `kube-system/${container}-${machine}`;
  return {
    id: `${podId}:${container}:${containerId(instance)}`,
    podId,
    name: container,
    image: container,
    pid: instance,
    status: 'CONTAINER_RUNNING',
    sandbox: false,
  };
}

/** First digits of the ID of a static pod's container. */
export function containerId(instance: number): string {
  return instance.toString(16).padStart(12, '0');
}
