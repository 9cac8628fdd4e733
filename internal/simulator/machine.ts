import { type MachineConfigView, readMachineConfig } from '../../pkg/machineconfig/index.ts';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';
import { type Material, materialOf, type OtherInputs } from './material.ts';

/** A process of a machine; another instance each time it starts. */
export interface Running {
  instance: number;
  /** When this instance started; milliseconds since the epoch. */
  startedAt: number;
  isRunning: boolean;
  /** From when on it is of use; Infinity while it does not run. Virtual milliseconds. */
  readyAt: number;
}

/** The kubelet, with what it read at its start and what it shows API servers. */
export interface Kubelet extends Running {
  trust: readonly Fingerprint[];
  /** CA of its client certificate, which it keeps over restarts and boots; undefined while it asks for one. */
  clientIssuer: Fingerprint | undefined;
  /** The API server that KubePrism gave it; kept until that process ends, even if it refuses every request. */
  upstream: { readonly name: string; readonly instance: number } | undefined;
}

/** kube-apiserver: its etcd pool and its port are read at start, everything else is read again when its file changes. */
export interface ApiServer extends Running {
  etcdPool: readonly Fingerprint[];
  /** Instance of the etcd that it has a connection to; such a connection is never verified again. */
  etcdLink: number | undefined;
  /** Where it listens. */
  port: number;
  /** It takes connections and answers nothing, not even health checks, until it ends or goes on. */
  isFrozen: boolean;
}

/** kube-controller-manager: what it publishes as root CA is read at start. */
export interface ControllerManager extends Running {
  rootCa: Certificate | undefined;
}

/** etcd: its trust is read at start, its leaves at every handshake. */
export interface EtcdProcess extends Running {
  pool: readonly Fingerprint[];
  /** Image, arguments and subnets as they were at its start; undefined in worlds where nothing but CAs changes. */
  startedWith: string | undefined;
}

/** What only control planes run. */
export interface Plane {
  readonly apiServer: ApiServer;
  readonly controllerManager: ControllerManager;
  readonly scheduler: Running;
  readonly etcd: EtcdProcess;
  /** CA of etcd's leaves and of the API server's client certificate towards it. */
  etcdLeaf: Fingerprint;
  /** The member of etcd that is in its data directory; undefined while that is empty. */
  memberId: string | undefined;
  /** Whether a restart of the static pods is due already. */
  podsDue: boolean;
}

/** The Node of a machine, as its kubelet and others wrote it. */
export interface NodeState {
  uid: string;
  bootId: string;
  ready: 'True' | 'False' | 'Unknown';
  leaseAt: number;
  /** The same in virtual time, which does not jump. */
  beatAt: number;
  unschedulable: boolean;
  annotations: Record<string, string>;
  /** What others put there; those of the kubelet follow from the machine. */
  labels: Readonly<Record<string, string>>;
  taints: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  /** When the kubelet wrote its status last: at news, and every five minutes. */
  reportedAt: number;
  /** Since when it is as ready as it is. */
  readySince: number;
  resourceVersion: number;
  createdAt: number;
}

/** One machine of a simulated world. */
export interface SimMachine {
  readonly name: string;
  readonly address: string;
  readonly role: 'controlplane' | 'worker';
  /** Talos's version, `1.14.1`. */
  version: string;
  boot: number;
  bootId: string;
  /** When this boot began to answer; milliseconds since the epoch. */
  upSince: number;
  /** Whether its Talos API answers. */
  isUp: boolean;
  /** Nobody reaches it, although it runs. */
  isCutOff: boolean;
  /** A reboot is under way. */
  isRebooting: boolean;
  config: string;
  persistent: string;
  /** The configuration that it was made with. */
  readonly born: string;
  /** Nothing can be written to its STATE partition. */
  isStateFull: boolean;
  /** Calls off that a tried configuration is taken back; undefined where none is tried. */
  endTrial: (() => void) | undefined;
  view: MachineConfigView;
  /** What its controllers have made of the configuration. */
  taken: Material;
  /** What they have made of the rest of it; undefined in worlds where nothing but CAs changes. */
  others: OtherInputs | undefined;
  /** What apid serves and accepts; on a worker, what trustd gave it. */
  api: { issuer: Fingerprint; accepted: readonly Certificate[] };
  /** COSI versions by type; they start again with every boot. */
  readonly versions: Map<string, bigint>;
  /** Counts every move of a version. */
  revision: number;
  readonly kubelet: Kubelet;
  /** Its kubelet registers nowhere (`skipNodeRegistration`). */
  readonly isStandalone: boolean;
  readonly plane: Plane | undefined;
  node: NodeState | undefined;
  /** Static pods as the kubelet last told. */
  podsReady: Record<string, boolean>;
}

/** Minor version of Talos 1. */
export function minorOf(machine: Pick<SimMachine, 'version'>): number {
  return Number(machine.version.split('.')[1] ?? '0');
}

/** How a machine is made. */
export interface MachineSeed {
  readonly name: string;
  readonly address: string;
  readonly role: 'controlplane' | 'worker';
  readonly version: string;
  readonly config: string;
  readonly now: number;
  /** Virtual milliseconds since the start. */
  readonly elapsed: number;
  readonly uid: string;
  /** Which machine of its world it is, in the order in which they came; none of its boots or processes is ever another's. */
  readonly number: number;
  /** It joins with an empty disk: no Node, no certificate of its kubelet, no member of etcd. */
  readonly isNew: boolean;
  /** Its kubelet runs static pods alone, and registers nowhere. */
  readonly isStandalone: boolean;
}

/** Boots and instances of a machine that joins count from its own thousand. */
const APART = 1_000;

/**
 * A machine that has been up for long, every process with what the configuration
 * says; or one that is new, and has yet to boot.
 */
export function createMachine(seed: MachineSeed): SimMachine {
  const { name, config, role, now, isNew } = seed;
  const view = viewOf(config, name);
  const taken = materialOf(view, minorOf(seed));
  const first = isNew ? seed.number * APART : 1;
  const running = (): Running => ({ instance: first, startedAt: now, isRunning: true, readyAt: 0 });
  const kubernetes = taken.kubelet[0];
  const talos = taken.talos.accepted.at(-1);
  if (kubernetes === undefined || talos === undefined) throw new Error(`${name} trusts nothing`);
  const etcdPool = (taken.etcd?.bundle ?? []).map((each) => each.fingerprint);
  return {
    name,
    address: seed.address,
    role,
    version: seed.version,
    boot: first,
    bootId: bootIdOf(name, first, seed.uid),
    upSince: now,
    isUp: true,
    isCutOff: false,
    isRebooting: false,
    config,
    persistent: config,
    born: config,
    isStateFull: false,
    endTrial: undefined,
    view,
    taken,
    others: undefined,
    api: { issuer: talos.fingerprint, accepted: taken.talos.accepted },
    versions: new Map(),
    revision: 0,
    kubelet: {
      ...running(),
      trust: taken.kubelet.map((each) => each.fingerprint),
      clientIssuer: isNew ? undefined : kubernetes.fingerprint,
      upstream: undefined,
    },
    plane:
      role === 'worker'
        ? undefined
        : {
            apiServer: { ...running(), etcdPool, etcdLink: 1, port: taken.apiServerPort ?? 0, isFrozen: false },
            controllerManager: { ...running(), rootCa: taken.kubernetes?.issuing },
            scheduler: running(),
            etcd: { ...running(), pool: etcdPool, startedWith: undefined },
            etcdLeaf: etcdPool[0] ?? ('' as Fingerprint),
            memberId: undefined,
            podsDue: false,
          },
    isStandalone: seed.isStandalone,
    node:
      isNew || seed.isStandalone
        ? undefined
        : newNode({ ...seed, bootId: bootIdOf(name, first, seed.uid), ready: 'True' }),
    podsReady:
      role === 'worker' ? {} : { 'kube-apiserver': true, 'kube-controller-manager': true, 'kube-scheduler': true },
  };
}

/** A Node as its kubelet registers it. */
export function newNode(
  facts: Pick<NodeState, 'uid' | 'bootId' | 'ready'> & Pick<MachineSeed, 'now' | 'elapsed'>,
): NodeState {
  const { uid, bootId, ready, now, elapsed } = facts;
  return {
    uid,
    bootId,
    ready,
    leaseAt: now,
    beatAt: elapsed,
    unschedulable: false,
    annotations: {},
    labels: {},
    taints: [],
    reportedAt: now,
    readySince: now,
    resourceVersion: 1,
    createdAt: now,
  };
}

const views = new Map<string, MachineConfigView>();

/** The view of a configuration; each text is read once, as most machines of most worlds have the same ones. */
export function viewOf(config: string, where: string): MachineConfigView {
  const known = views.get(config);
  if (known !== undefined) return known;
  const view = readMachineConfig(config, where);
  if (views.size > 2_000) views.clear();
  views.set(config, view);
  return view;
}

/** A boot ID in the form of the kernel, the same for the same boot of the same machine. */
export function bootIdOf(name: string, boot: number, uid: string): string {
  const hex = Buffer.from(`${name}${uid}`).toString('hex').padEnd(20, '0').slice(0, 20);
  return `${boot.toString(16).padStart(8, '0')}-${hex.slice(0, 4)}-4${hex.slice(4, 7)}-8${hex.slice(7, 10)}-${hex.slice(8, 20)}`;
}

/** Moves the version of resources. */
export function bump(machine: SimMachine, ...types: readonly string[]): void {
  machine.revision += 1;
  for (const type of types) machine.versions.set(type, (machine.versions.get(type) ?? 1n) + 1n);
}
