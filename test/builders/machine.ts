import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import type {
  ConfigStanding,
  EtcdReading,
  MachineObservation,
  NodeReading,
  PkiReading,
  Reading,
  TalosReading,
  UnknownWhy,
} from '../../internal/rotation/observation.ts';
import type { Fingerprint } from '../../pkg/pki/index.ts';
import { NEW, OLD } from './rotation-material.ts';

/** Where a machine's configuration stands. */
export type Stands = 'Before' | 'Accepting' | 'Issuing' | 'Dropping';

/** What a test says of one machine; everything else is a machine with which nothing is wrong. */
export interface MachineOptions {
  readonly name?: string;
  readonly role?: 'controlplane' | 'worker';
  /** The targets that move; the others stay at `Before`. */
  readonly targets?: readonly CaTarget[];
  readonly stands?: Stands;
  /** Where single targets stand instead. */
  readonly standing?: Partial<Record<CaTarget, ConfigStanding>>;
  /** What it runs with, when that is not what its configuration says. */
  readonly runs?: Stands;
  readonly pki?: Partial<PkiReading>;
  readonly talos?: Partial<TalosReading>;
  /** It does not answer, for this reason. */
  readonly unknown?: UnknownWhy;
  readonly boot?: string;
  /** Its running kube-apiservers. */
  readonly instance?: string | readonly string[] | undefined;
  readonly etcd?: Partial<EtcdReading>;
  readonly etcdUnknown?: string;
  /** `/readyz` says this instead of ok. */
  readonly apiServer?: string;
  readonly node?: Partial<NodeReading> | 'none' | 'unknown';
  readonly members?: readonly string[];
  readonly leader?: string;
  /** What it serves on 2379 and 2380; by default what it runs with. */
  readonly served?: MachineObservation['etcdServed'];
}

/** The ID of the etcd member on this machine: sixteen hexadecimal digits made of its name. */
export function memberId(name: string): string {
  return Buffer.from(name).toString('hex').padStart(16, '0').slice(-16);
}

/** One machine, healthy, in `boot-1`, standing before the rotation. */
export function aMachine(options: MachineOptions = {}): MachineObservation {
  const name = options.name ?? 'cp1';
  const role = options.role ?? 'controlplane';
  const unreachable: Record<UnknownWhy, string> = {
    unreachable: 'connection refused',
    untrusted: 'the certificate it shows is signed by no known CA',
    maintenance: 'it waits for its first configuration',
    failed: 'the call failed',
  };
  const why = options.unknown;
  return {
    name,
    address: `10.0.0.${name.replaceAll(/\D/g, '')}`,
    role,
    talos:
      why === undefined
        ? { known: true, value: talosReading(name, role, options) }
        : { known: false, why, message: unreachable[why] },
    node: nodeReading(name, options),
    ...(role === 'worker'
      ? {}
      : {
          apiServer:
            why === undefined
              ? {
                  known: true,
                  value: { ready: options.apiServer === undefined, message: options.apiServer ?? 'ok' },
                }
              : { known: false, why: 'unreachable', message: 'connection refused' },
          etcdServed: options.served ?? served(options),
        }),
  };
}

function talosReading(name: string, role: 'controlplane' | 'worker', options: MachineOptions): TalosReading {
  const stands = options.stands ?? 'Before';
  const targets = options.targets ?? CA_TARGETS;
  const standing = Object.fromEntries(
    CA_TARGETS.map((target) => [target, { stage: targets.includes(target) ? stands : 'Before' }]),
  ) as Record<CaTarget, ConfigStanding>;
  if (role === 'worker') {
    standing.etcd = { stage: 'NotConcerned' };
    standing['kubernetes-aggregator'] = { stage: 'NotConcerned' };
  }
  return {
    version: '1.14.1',
    bootId: options.boot ?? 'boot-1',
    configDigest: `digest-${stands}`,
    standing: { ...standing, ...options.standing },
    pki: { ...pkiAt(options.runs ?? stands, targets, role), ...options.pki },
    kubelet: { running: true, healthy: true },
    ...(role === 'worker' ? {} : controlPlaneReading(name, options)),
    ...options.talos,
  };
}

function controlPlaneReading(name: string, options: MachineOptions): Partial<TalosReading> {
  const names = options.members ?? [name];
  const etcd: Reading<EtcdReading> =
    options.etcdUnknown === undefined
      ? {
          known: true,
          value: {
            memberId: memberId(name),
            leaderId: memberId(options.leader ?? names[0] ?? name),
            members: names.map((each) => ({ id: memberId(each), name: each, learner: false })),
            alarms: [],
            ...options.etcd,
          },
        }
      : { known: false, why: 'failed', message: options.etcdUnknown };
  const instance = 'instance' in options ? options.instance : 'container-1';
  return {
    etcdService: { running: true, healthy: true },
    etcd,
    apiServers: instance === undefined ? [] : [instance].flat(),
  };
}

/** By the list of targets, which is one object for a whole cluster. */
const KNOWN_PKI = new WeakMap<readonly CaTarget[], Map<string, PkiReading>>();

/** The PKI that a machine runs with at a stage. */
export function pkiAt(
  stands: Stands,
  targets: readonly CaTarget[] = CA_TARGETS,
  role: 'controlplane' | 'worker' = 'controlplane',
): PkiReading {
  const known = KNOWN_PKI.get(targets) ?? new Map<string, PkiReading>();
  KNOWN_PKI.set(targets, known);
  const key = stands + role;
  const pki = known.get(key) ?? makePki(stands, targets, role);
  known.set(key, pki);
  return pki;
}

function makePki(stands: Stands, targets: readonly CaTarget[], role: 'controlplane' | 'worker'): PkiReading {
  const at = (target: CaTarget): Stands => (targets.includes(target) ? stands : 'Before');
  const accepted = (target: CaTarget): Fingerprint[] => {
    if (at(target) === 'Before') return [OLD[target]];
    return at(target) === 'Dropping' ? [NEW[target]] : [OLD[target], NEW[target]];
  };
  const issuing = (target: CaTarget): Fingerprint =>
    at(target) === 'Issuing' || at(target) === 'Dropping' ? NEW[target] : OLD[target];
  const shared = {
    talosAccepted: accepted('talos'),
    talosRootAccepted: accepted('talos'),
    apidIssuer: issuing('talos'),
    kubeletAccepted: accepted('kubernetes'),
  };
  if (role === 'worker') return { ...shared, kubernetesAccepted: [], aggregatorAccepted: [], etcdTrusted: [] };
  const trusted = accepted('etcd');
  return {
    ...shared,
    talosIssuing: issuing('talos'),
    kubernetesIssuing: issuing('kubernetes'),
    kubernetesAccepted: accepted('kubernetes'),
    aggregatorIssuing: issuing('kubernetes-aggregator'),
    aggregatorAccepted: accepted('kubernetes-aggregator'),
    etcdTrusted: at('etcd') === 'Issuing' ? trusted.toReversed() : trusted,
    etcdLeafIssuer: issuing('etcd'),
  };
}

function nodeReading(name: string, options: MachineOptions): MachineObservation['node'] {
  if (options.node === 'unknown') return { known: false, why: 'failed', message: 'no API server answers' };
  if (options.node === 'none') return { known: true, value: undefined };
  return {
    known: true,
    value: {
      name,
      uid: `uid-${name}`,
      ready: true,
      readyMessage: 'kubelet is posting ready status',
      bootId: options.boot ?? 'boot-1',
      clockAheadMs: 0,
      cordoned: false,
      cordonedByUs: false,
      ...options.node,
    },
  };
}

function served(options: MachineOptions): NonNullable<MachineObservation['etcdServed']> {
  const issuer = pkiAt(options.runs ?? options.stands ?? 'Before', options.targets).etcdLeafIssuer;
  return { known: true, value: { client: issuer, peer: issuer } };
}

/** What a test says of the machines. */
export interface ClusterOptions extends MachineOptions {
  readonly controlPlanes?: number;
  readonly workers?: number;
  /** What is different about single machines, by name. */
  readonly except?: Readonly<Record<string, MachineOptions>>;
}

/** The machines of a cluster, `cp1`, `cp2`, … and `w1`, `w2`, …; three and one by default, `cp1` leads etcd. */
export function aCluster(options: ClusterOptions = {}): MachineObservation[] {
  const { controlPlanes = 3, workers = 1, except = {}, ...shared } = options;
  const planes = Array.from({ length: controlPlanes }, (_, index) => `cp${index + 1}`);
  const others = Array.from({ length: workers }, (_, index) => `w${index + 1}`);
  return [
    ...planes.map((name) => aMachine({ members: planes, ...shared, ...except[name], name, role: 'controlplane' })),
    ...others.map((name) => aMachine({ ...shared, ...except[name], name, role: 'worker' })),
  ];
}
