import { type Certificate, type Fingerprint, writeCertificates } from '../../pkg/pki/index.ts';
import {
  type CallOptions,
  type Identity,
  MEMBER,
  type Member,
  type Resource,
  type ResourceKind,
  type ServiceStatus,
  TalosError,
  type TalosErrorKind,
  type TalosMachine,
} from '../../pkg/talos/index.ts';
import type { Read } from './call-log.ts';
import { type FaultPlan, never, type SimProcess } from './faults.ts';
import { resourceOf } from './kept-resources.ts';
import { shared, sharedByAll } from './kube/shared.ts';
import { issueKubeconfig } from './kubeconfig.ts';
import type { SimMachine } from './machine.ts';
import type { Mint } from './mint.ts';
import { stockOf } from './stock.ts';
import {
  applyConfiguration,
  configurationOf,
  containersOf,
  etcdAlarms,
  etcdMembers,
  etcdStatus,
  planeOf,
  Refusal,
  type ServiceFact,
  serviceFacts,
} from './talos-answers.ts';
import { beginReboot } from './transitions.ts';
import { withoutStack } from './without-stack.ts';
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

/** Where Talos keeps the persistent configuration, on its STATE partition. */
const CONFIGURATION_FILE = '/system/state/config.yaml';

/** Where a kubelet keeps what it shows API servers; the simulated one has no key in it, as nobody would use it. */
const KUBELET_CLIENT_FILE = '/var/lib/kubelet/pki/kubelet-client-current.pem';

const CHANGE_MS = 30_000;

/** The Talos API of one simulated machine, with the handshake, the permissions and the refusals of the real one. */
export function createSimTalos(options: TalosClientOptions): TalosMachine {
  const { world, process, faults, name, address } = options;
  const { texts } = stockOf(world.mint);
  let { identity } = options;
  /** Boot in which a connection was made; such a connection is not verified again. */
  let connection: string | undefined;

  function fail(call: string, kind: TalosErrorKind, detail: string): TalosError {
    return withoutStack(() => new TalosError({ kind, machine: name, call, outcome: 'not-done', detail }));
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

  /** A refusal of the machine as the client's error. */
  function errorOf(call: string, error: unknown): unknown {
    return error instanceof Refusal ? fail(call, error.kind, error.message) : error;
  }

  /** Runs what the machine does; its refusal becomes the client's error. */
  function refusing<T>(call: string, run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw errorOf(call, error);
    }
  }

  /** What this client has read of whom, as the log keeps it. */
  let logged: { readonly of: string; readonly reads: Map<string, Read> } | undefined;
  function log({ name: of, bootId }: SimMachine, call: string): void {
    if (logged?.of !== of) logged = { of, reads: faults.log.readsOf(of) };
    const at = world.clock.monotonic();
    const last = logged.reads.get(call);
    if (last === undefined) {
      logged.reads.set(call, { at, bootId });
      return;
    }
    last.at = at;
    last.bootId = bootId;
  }

  /** A call that changes nothing. It is answered at once: a promise is made of the answer alone, fifty times in a look. */
  function read<T>(call: string, options: CallOptions | undefined, take: (machine: SimMachine) => T): Promise<T> {
    if (process.isDead) return never();
    try {
      const machine = enter(call, options?.fresh);
      log(machine, call);
      return Promise.resolve(take(machine));
    } catch (error) {
      return Promise.reject(errorOf(call, error));
    }
  }

  /** A mutating call: entered now, and only landing in the boot that it was sent to. */
  async function change<T>(
    call: string,
    options: CallOptions | undefined,
    perform: (machine: SimMachine) => T,
  ): Promise<T> {
    if (process.isDead) return never();
    const { bootId, name: reached, api } = enter(call, options?.fresh);
    if (call === 'ApplyConfiguration')
      faults.log.sent.push({ machine: name, reached, issuer: api.issuer, trust: identity.trust });
    const asked = call === 'Reboot' ? faults.log.askToReboot(name, world.clock.monotonic()) : undefined;
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
      perform: () =>
        refusing(call, () => {
          const machine = reach();
          if (asked !== undefined && !machine.isRebooting) asked.begunAt ??= world.clock.monotonic();
          return perform(machine);
        }),
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
      read('Get MachineConfigs', call, (machine) => {
        const { config, version } = configurationOf(machine, which);
        return { config: texts.secret(config), version };
      }),
    apply: (request, call) => {
      const asked = { ...request, config: request.config.expose() };
      const apply = (machine: SimMachine) => applyConfiguration(world, machine, asked);
      return (request.dryRun === true ? read : change)('ApplyConfiguration', call, apply);
    },
    services: (call) => read('ServiceList', call, (machine) => servicesOf(world, machine)),
    restartService: async () => unsupported('ServiceRestart')(),
    etcd: {
      members: (call) => read('EtcdMemberList', call, (machine) => etcdMembers(world, machine)),
      status: (call) => read('EtcdStatus', call, (machine) => etcdStatus(world, machine)),
      alarms: (call) => read('EtcdAlarmList', call, (machine) => etcdAlarms(world, machine)),
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
    get: <Spec>({ type, namespace, id = '' }: ResourceKind<Spec>, call?: CallOptions & { readonly id?: string }) =>
      read(nameOfGet(type), call, (machine) => {
        const found = resourceOf(world, machine, { type, namespace, id: call?.id ?? id });
        return found as Resource<Spec> | undefined;
      }),
    list: <Spec>({ type }: ResourceKind<Spec>, call?: CallOptions) =>
      type === MEMBER.type
        ? read(
            'List Members',
            call,
            () => world.machines().map(memberOf) as readonly Resource<unknown>[] as Resource<Spec>[],
          )
        : unsupported('List')(),
    watch: unsupported('Watch'),
    kubeconfig: (call) =>
      read('Kubeconfig', call, (machine) => {
        const { apiServer } = planeOf(machine, 'kubeconfig');
        if (machine.taken.kubernetes === undefined) throw fail('Kubeconfig', 'refused', 'no Kubernetes CA');
        return issueKubeconfig(world.mint, machine.taken.kubernetes, `https://${address}:${apiServer.port}`);
      }),
    issueClient: async () => unsupported('GenerateClientConfiguration')(),
    readFile: (path, call) =>
      read('Read', call, (machine) => {
        if (path === CONFIGURATION_FILE) return texts.bytes(machine.persistent);
        const { clientIssuer } = machine.kubelet;
        if (path === KUBELET_CLIENT_FILE && clientIssuer !== undefined) {
          return Buffer.from(writeCertificates(world.mint.pair(clientIssuer).certificates));
        }
        throw fail('Read', 'not-found', `open ${path}: no such file or directory`);
      }),
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

function holds(certificates: readonly Certificate[], fingerprint: Fingerprint): boolean {
  return certificates.some((certificate) => certificate.fingerprint === fingerprint);
}

function servicesOf(world: World, machine: SimMachine): readonly ServiceStatus[] {
  const { kubelet, plane, upSince } = machine;
  const services = serviceFacts(world, machine);
  return statusesOf(machine, { services, kubelet: kubelet.startedAt, etcd: plane?.etcd.startedAt, upSince });
}

/** Services, and when they last started: with the boot, unless it is one that is started by itself. */
interface Started {
  readonly services: readonly ServiceFact[];
  readonly kubelet: number;
  readonly etcd: number | undefined;
  readonly upSince: number;
}

const statusesOf = sharedByAll(({ services, kubelet, etcd = 0, upSince }: Started): readonly ServiceStatus[] =>
  services.map(({ id, isRunning, isHealthy }) => {
    const at = id === 'kubelet' ? kubelet : id === 'etcd' ? etcd : upSince;
    return {
      id,
      state: isRunning ? 'Running' : 'Stopping',
      healthy: isHealthy,
      healthMessage: '',
      events: [{ state: 'Running', message: 'Started task', at }],
    };
  }),
);

/** A machine as discovery names it, with a Node or without. */
function memberOf(machine: SimMachine): Resource<Member> {
  const { name, address, role, version } = machine;
  return memberOfFacts(machine, { name, address, role, version });
}

const memberOfFacts = shared(
  ({ name, address, role, version }: Pick<SimMachine, 'name' | 'address' | 'role' | 'version'>): Resource<Member> => ({
    metadata: {
      ...{ namespace: MEMBER.namespace, type: MEMBER.type, id: name, version: 1n, phase: 'running' },
      ...{ owner: 'simulator', created: 0, updated: 0, finalizers: [], labels: {}, annotations: {} },
    },
    spec: {
      ...{ nodeId: name, hostname: name, role, addresses: [address], operatingSystem: `Talos (v${version})` },
      apiServerPort: role === 'controlplane' ? 6_443 : undefined,
    },
  }),
);

/** The name of a call by the type that it reads; there are a dozen of them. */
function nameOfGet(type: string): string {
  const known = namesOfGet.get(type);
  if (known !== undefined) return known;
  const name = `Get ${type}`;
  namesOfGet.set(type, name);
  return name;
}

const namesOfGet = new Map<string, string>();
