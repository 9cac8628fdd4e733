import { type NodeView, readApiServerHealth, whyNotReady } from '../../pkg/kube/index.ts';
import { type Certificate, type Fingerprint, verifyChain } from '../../pkg/pki/index.ts';
import {
  API_CERTIFICATES,
  type CertificatesOfKey,
  ETCD_CERTIFICATES,
  ETCD_ROOT,
  isTalosError,
  KUBELET_SECRETS,
  KUBERNETES_ROOT,
  OS_ROOT,
  type ServiceStatus,
  type TalosMachine,
} from '../../pkg/talos/index.ts';
import type {
  EtcdReading,
  MachineObservation,
  NodeReading,
  PkiReading,
  ServiceReading,
  TalosReading,
} from '../rotation/observation.ts';
import { clockAheadMs, type Heartbeats } from './heartbeats.ts';
import { authoritiesOf } from './identities.ts';
import type { ListedMachine } from './machines.ts';
import type { ClusterState } from './ports.ts';
import type { Session } from './session.ts';
import { type ConfigReader, digestOf, type ReplacedCas } from './standing.ts';
import { readingOf } from './unknown.ts';

/** Everything that the observation of one machine is made from. */
export interface MachineInput {
  readonly session: Session;
  readonly state: ClusterState;
  readonly machine: ListedMachine;
  readonly configs: ConfigReader;
  /** What earlier operations have taken out of service. */
  readonly replaced: ReplacedCas;
  readonly heartbeats: Heartbeats;
  readonly now: number;
  /** Uids of operations whose cordons are ours: the Nodes carry them. */
  readonly owners: readonly string[];
}

/** Reads one machine over its own APIs; what cannot be read is unknown. */
export async function observeMachine(input: MachineInput): Promise<MachineObservation> {
  const { session, machine } = input;
  const isPlane = machine.role === 'controlplane';
  // At once: a Talos API that is slow would make its Lease older than it was when it was read.
  const node = machine.node === undefined ? undefined : toNode(machine.node, input);
  const talos = await readingOf(() => session.talos(machine, (client) => readTalos(client, input)));
  if (talos.known && talos.value.apiServerPort !== undefined) session.listensOn(machine, talos.value.apiServerPort);
  return {
    name: machine.name,
    address: machine.address,
    role: machine.role,
    talos,
    // Asked after it was seen which one runs: before, the one that is about to end would answer for the new one.
    ...(isPlane ? { apiServer: talos.known ? await readingOf(() => session.kube(machine, readHealth)) : talos } : {}),
    node: { known: true, value: node },
  };
}

async function readHealth(client: Parameters<typeof readApiServerHealth>[0]) {
  const health = await readApiServerHealth(client, { fresh: true, deadlineMs: 5_000 });
  return {
    ready: health.ready,
    message: health.ready ? 'ok' : `failing: ${health.failing.join(', ') || 'unnamed checks'}`,
  };
}

function toNode(node: NodeView, { now, owners, heartbeats }: MachineInput): NodeReading {
  const nodeTime = heartbeats.nodeTime(node, now);
  const why = whyNotReady(node, { now: nodeTime });
  return {
    name: node.name,
    uid: node.uid,
    ready: why === undefined,
    readyMessage: why ?? 'Ready',
    bootId: node.bootId,
    clockAheadMs: clockAheadMs(node, nodeTime, now),
    cordoned: node.unschedulable,
    cordonedByUs: node.cordonedBy !== undefined && owners.includes(node.cordonedBy),
  };
}

async function readTalos(
  client: TalosMachine,
  { machine, state, configs, replaced }: MachineInput,
): Promise<TalosReading> {
  const isPlane = machine.role === 'controlplane';
  const [version, bootId, active, kept, services, pki, plane] = await Promise.all([
    client.version(),
    client.bootId(),
    client.configuration('active'),
    readKept(client),
    client.services(),
    readPki(client, state, isPlane),
    isPlane ? readPlane(client) : undefined,
  ]);
  const text = active.config.expose();
  const read = configs.read(text, { state, replaced }, `the configuration of ${machine.name}`);
  const { digest, standing, unfit, apiServerPort } = read;
  return {
    version: version.tag.replace(/^v/, ''),
    bootId,
    configDigest: digest,
    ...(kept === undefined ? {} : { keptDigest: kept === text ? digest : digestOf(kept) }),
    standing,
    ...(unfit === undefined ? {} : { unfit }),
    ...(apiServerPort === undefined ? {} : { apiServerPort }),
    pki,
    kubelet: toService(services.find((service) => service.id === 'kubelet')),
    ...(plane === undefined
      ? {}
      : { etcdService: toService(services.find((service) => service.id === 'etcd')), ...plane }),
  };
}

/**
 * The configuration that the next boot starts with: the file on the STATE partition, and where the machine does not show
 * that file (Talos 1.14 on metal mounts STATE detached, for itself alone: `blockautomaton.WithDetached`) what was stored
 * last. `undefined` where nothing was stored in this boot: the disk then holds what was active at its start.
 */
async function readKept(client: TalosMachine): Promise<string | undefined> {
  const options = { deadlineMs: KEPT_DEADLINE_MS };
  const file = await shown(async () => (await client.readFile('/system/state/config.yaml', options)).toString('utf8'));
  return file ?? shown(async () => (await client.configuration('persistent')).config.expose());
}

/** As long as for other readings: files have two minutes of their own, in which everything else in the picture grows old. */
const KEPT_DEADLINE_MS = 10_000;

/** What a machine shows, or nothing where it has none to show. */
async function shown(read: () => Promise<string>): Promise<string | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isTalosError(error, 'not-found', 'unsupported', 'refused', 'permission')) return undefined;
    throw error;
  }
}

function toService(service: ServiceStatus | undefined): ServiceReading {
  const startedAt = startOf(service?.events ?? []);
  return {
    running: service?.state === 'Running',
    healthy: service?.healthy === true,
    ...(startedAt === undefined ? {} : { startedAt }),
  };
}

/** As many events as Talos keeps of a service: what a full list begins with may be anything. */
const KEPT_EVENTS = 64;

/** The last event `Running` that follows another state: each change of its health adds one more (docs/reference/talos-observed.md). */
function startOf(events: ServiceStatus['events']): number | undefined {
  const isStart = (at: number): boolean =>
    at === 0 ? events.length < KEPT_EVENTS : events[at - 1]?.state !== 'Running';
  return events.findLast(({ state }, at) => state === 'Running' && isStart(at))?.at;
}

async function readPlane(client: TalosMachine): Promise<Required<Pick<TalosReading, 'etcd' | 'apiServers'>>> {
  const [etcd, apiServers] = await Promise.all([readingOf(() => readEtcd(client)), runningApiServers(client)]);
  return { etcd, apiServers };
}

/** Name of the static pod before the name of the Node; clusters that are hosted on this one have containers of the same name. */
const API_SERVER_POD = 'kube-system/kube-apiserver-';

/** Container ids of the kube-apiservers that run on a control plane; two while the one of before is still ending. */
export async function runningApiServers(client: TalosMachine): Promise<string[]> {
  return (await client.containers())
    .filter(({ podId, name }) => podId.startsWith(API_SERVER_POD) && name === 'kube-apiserver')
    .filter(({ sandbox, status }) => !sandbox && status === 'CONTAINER_RUNNING')
    .map(({ id }) => id.split(':').at(-1) ?? id);
}

async function readEtcd(client: TalosMachine): Promise<EtcdReading> {
  const [status, members, alarms] = await Promise.all([
    client.etcd.status(),
    client.etcd.members(),
    client.etcd.alarms(),
  ]);
  return {
    memberId: status.memberId,
    leaderId: status.leader,
    members: members.map(({ id, name, learner }) => ({ id, name, learner })),
    alarms: [...alarms.map(({ alarm, memberId }) => `${alarm} of member ${memberId}`), ...status.errors],
  };
}

async function readPki(client: TalosMachine, state: ClusterState, isPlane: boolean): Promise<PkiReading> {
  const [osRoot, api, kubelet, plane] = await Promise.all([
    client.get(OS_ROOT),
    client.get(API_CERTIFICATES),
    client.get(KUBELET_SECRETS),
    isPlane
      ? Promise.all([client.get(KUBERNETES_ROOT), client.get(ETCD_ROOT), client.get(ETCD_CERTIFICATES)])
      : undefined,
  ]);
  const talosAuthorities = authoritiesOf(state, 'talos');
  const [kubernetes, etcdRoot, etcd] = plane ?? [];
  const root = kubernetes?.spec;
  const leaves = [etcd?.spec.server, etcd?.spec.peer, etcd?.spec.apiServer];
  const reading: Writable<PkiReading> = {
    talosAccepted: fingerprints(api?.spec.accepted),
    talosRootAccepted: fingerprints(osRoot?.spec.accepted),
    kubernetesAccepted: fingerprints(root?.accepted),
    kubeletAccepted: fingerprints(kubelet?.spec.accepted),
    aggregatorAccepted: fingerprints(
      root?.acceptedAggregator.length ? root.acceptedAggregator : root?.aggregator?.certificates,
    ),
    etcdTrusted: fingerprints(etcdRoot?.spec.ca?.certificates),
  };
  set(reading, 'talosIssuing', osRoot?.spec.issuing?.certificates[0]?.fingerprint);
  set(reading, 'apidIssuer', issuerOf([api?.spec.server], talosAuthorities));
  set(reading, 'kubernetesIssuing', root?.issuing?.certificates[0]?.fingerprint);
  set(reading, 'aggregatorIssuing', root?.aggregator?.certificates[0]?.fingerprint);
  if (isPlane) set(reading, 'etcdLeafIssuer', issuerOf(leaves, authoritiesOf(state, 'etcd')));
  return reading;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The one CA that signed every one of these leaves, or nothing where they differ. */
function issuerOf(
  leaves: readonly (CertificatesOfKey | undefined)[],
  authorities: readonly Certificate[],
): Fingerprint | undefined {
  const found = authorities.find((authority) =>
    leaves.every((leaf) => {
      const [certificate] = leaf?.certificates ?? [];
      return certificate !== undefined && signedBy(certificate, authority);
    }),
  );
  return found?.fingerprint;
}

/** Whether this CA signed the leaf; both CAs of a rotation share their subject, so the signature decides. */
export function signedBy(leaf: Certificate, authority: Certificate): boolean {
  const known = verdicts.get(leaf) ?? new Map<Fingerprint, boolean>();
  const before = known.get(authority.fingerprint);
  if (before !== undefined) return before;
  const options = { now: leaf.notBefore, clockSkewMs: Number.MAX_SAFE_INTEGER };
  const isSigned = (['server', 'client'] as const).some(
    (usage) => verifyChain(leaf, [authority], { ...options, usage }).ok,
  );
  verdicts.set(leaf, known.set(authority.fingerprint, isSigned));
  return isSigned;
}

/** A signature that was verified once stays so; forgotten together with the certificate. */
const verdicts = new WeakMap<Certificate, Map<Fingerprint, boolean>>();

function fingerprints(certificates: readonly Certificate[] | undefined): Fingerprint[] {
  return (certificates ?? []).map((certificate) => certificate.fingerprint);
}

/** Puts a field there that has a value; what a machine does not have is absent. */
function set<K extends keyof PkiReading>(
  reading: Writable<PkiReading>,
  key: K,
  value: PkiReading[K] | undefined,
): void {
  if (value !== undefined) reading[key] = value;
}
