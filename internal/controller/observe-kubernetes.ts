import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import {
  exhaustedBudget,
  type KubeClient,
  listPods,
  listRootCas,
  listStalePods,
  type PodObject,
  planDrain,
  podsOnNode,
  readAggregatorAuth,
  readLease,
  readTalosAccess,
  readWorkload,
  restartAskedAt,
  rolloutState,
  type StalePods,
  type WorkloadName,
  whyNotRestartable,
} from '../../pkg/kube/index.ts';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';
import { CLOCKS_APART_MS } from '../rotation/gates/clocks-agree.ts';
import type {
  AuthenticationReading,
  KubernetesObservation,
  Needs,
  Reading,
  StaleWorkload,
  TalosAccessReading,
} from '../rotation/observation.ts';
import { signedBy } from './observe-machine.ts';
import type { MachineRef, Session } from './session.ts';
import { readingOf } from './unknown.ts';

/** What the cluster-wide reading is made from. */
export interface KubernetesInput {
  readonly session: Session;
  /** Control planes to ask, those that are ready first. */
  readonly ask: readonly MachineRef[];
  /** Names of the machines. */
  readonly machines: readonly string[];
  readonly needs: Needs;
  readonly operation: TalosOperation;
  /** How much the wall clock is ahead of the operation's time, milliseconds; 0 where it is behind. */
  readonly aheadMs: number;
  /** The Kubernetes CA that namespaces should hold. */
  readonly rootCa: Fingerprint | undefined;
  /** The old and the new Talos CA. */
  readonly talosCas: readonly Certificate[];
}

/** Reads what the next decision needs of the cluster as a whole, through one API server that answers. */
export async function observeKubernetes(input: KubernetesInput): Promise<KubernetesObservation> {
  const { needs, operation, rootCa, talosCas } = input;
  const read = <T>(wanted: boolean, work: (client: KubeClient) => Promise<T>) =>
    wanted ? viaAny(input, work) : undefined;
  const published = operation.status.conditions.find(
    (each) => each.type === 'RootCaPublished' && each.status === 'True',
  );
  const [authentication, roots, stalePods, talosAccess, draining, unreadyControlPlanePods, controllerManager] =
    await Promise.all([
      read(needs.authentication, readAuthentication),
      read(needs.rootCa && rootCa !== undefined, (client) => readRootCas(client, rootCa)),
      read(needs.stalePods && published !== undefined, (client) =>
        // Pods tell the wall clock's time.
        readStale(client, operation, { at: Date.parse(published?.lastTransitionTime ?? ''), aheadMs: input.aheadMs }),
      ),
      read(needs.talosAccess, (client) => readAccess(client, talosCas)),
      read(needs.draining !== undefined, (client) => readDraining(client, needs.draining ?? '', input)),
      read(needs.controlPlanePods, readUnready),
      read(needs.controllerManager, (client) => readControllerManager(client, input.machines)),
    ]);
  return {
    ...(authentication === undefined ? {} : { authentication }),
    ...(roots === undefined ? {} : { rootCa: roots }),
    ...(stalePods === undefined ? {} : { stalePods }),
    ...(talosAccess === undefined ? {} : { talosAccess }),
    ...(draining === undefined ? {} : { draining }),
    ...(unreadyControlPlanePods === undefined ? {} : { unreadyControlPlanePods }),
    ...(controllerManager === undefined ? {} : { controllerManager }),
  };
}

/** The first answer of any control plane; the last failure where none answers. */
export async function viaAny<T>(
  input: Pick<KubernetesInput, 'session' | 'ask'>,
  work: (client: KubeClient) => Promise<T>,
): Promise<Reading<T>> {
  let last: Reading<T> = { known: false, why: 'failed', message: 'no control plane is ready' };
  for (const machine of input.ask) {
    last = await readingOf(() => input.session.kube(machine, work));
    if (last.known) return last;
  }
  return last;
}

/** Who signed what programs in the cluster present to the Talos API; the keys beside it stay where they are. */
async function readAccess(client: KubeClient, authorities: readonly Certificate[]): Promise<TalosAccessReading[]> {
  return (await readTalosAccess(client)).map(({ namespace, name, pods, certificate }) => {
    const issuer = authorities.find((each) => certificate !== undefined && signedBy(certificate, each));
    return { name: `${namespace}/${name}`, pods, ...(issuer === undefined ? {} : { issuer: issuer.fingerprint }) };
  });
}

/** The holder of the Lease is the host name and a UUID; the name of a Node may be longer than that of its host. */
async function readControllerManager(client: KubeClient, machines: readonly string[]): Promise<string | undefined> {
  const lease = await readLease(client, { namespace: 'kube-system', name: 'kube-controller-manager' });
  const host = lease?.holder.replace(/_[^_]*$/, '') ?? '';
  return machines.find((name) => name === host || name.startsWith(`${host}.`));
}

async function readAuthentication(client: KubeClient): Promise<AuthenticationReading> {
  const found = await readAggregatorAuth(client);
  if (found === undefined) return { present: false };
  return { present: true, uid: found.uid, requestheader: found.requestHeaderCas, client: found.clientCas };
}

async function readRootCas(client: KubeClient, expected: Fingerprint | undefined) {
  const all = (await listRootCas(client)).filter((each) => !each.leaving);
  const stale = all.filter(({ fingerprints }) => fingerprints.length !== 1 || fingerprints[0] !== expected);
  return { total: all.length, stale: stale.map((each) => each.namespace) };
}

/**
 * Pods tell the time of an API server: by one that is ahead, as far as it may be when a rotation begins, those that were
 * made just before the new root CA would be new. One too many is listed rather than one too few.
 */
async function readStale(
  client: KubeClient,
  operation: TalosOperation,
  /** When the new root CA was published by the operation's time, and how far the wall clock is ahead of that. */
  published: { readonly at: number; readonly aheadMs: number },
): Promise<StaleWorkload[]> {
  const stale = await listStalePods(client, { startedBefore: published.at + published.aheadMs + CLOCKS_APART_MS });
  const asks = operation.spec.restartWorkloads === 'Rolling';
  const workloads = await Promise.all(
    stale.map(async (each): Promise<StaleWorkload | undefined> => {
      const workload = asks ? workloadOf(each) : undefined;
      const common = { owner: ownerText(each), pods: each.pods.length, restartable: each.restartable };
      if (workload === undefined) return common;
      const rollout = await readRollout(client, workload, published.at);
      return rollout === 'replaced' ? undefined : { ...common, ...rollout };
    }),
  );
  return workloads.filter((each) => each !== undefined);
}

/**
 * Whether a rollout is under way; where none is, what would keep a new one from replacing pods. `replaced` where one that was
 * asked for after the root CA was published is over: its pods are new, whatever a clock that was put back makes of their age.
 */
async function readRollout(
  client: KubeClient,
  workload: WorkloadName,
  publishedAt: number,
): Promise<Pick<StaleWorkload, 'restart' | 'heldBy'> | 'replaced'> {
  const object = await readWorkload(client, workload);
  const why = whyNotRestartable(object);
  if (why !== undefined) return { heldBy: why };
  const rollout = rolloutState(workload.kind, object);
  const since = restartAskedAt(object);
  if (!rollout.done) {
    return { restart: { message: rollout.message, ...(since !== undefined && { since }) } };
  }
  // What is asked for is written in whole seconds.
  if (since !== undefined && since >= publishedAt - (publishedAt % 1_000)) return 'replaced';
  const budget = await exhaustedBudget(client, workload.namespace, object);
  if (budget === undefined) return {};
  return { heldBy: `PodDisruptionBudget ${budget.name}: ${budget.message}` };
}

function workloadOf({ owner, namespace, name }: StalePods): WorkloadName | undefined {
  return owner === 'Deployment' || owner === 'StatefulSet' || owner === 'DaemonSet'
    ? { kind: owner, namespace, name }
    : undefined;
}

/** How messages name a workload; `parseOwner` reads it back. */
export function ownerText({ namespace, owner, name }: Pick<StalePods, 'namespace' | 'owner' | 'name'>): string {
  return `${namespace}/${owner}/${name}`;
}

/** The workload behind such a text. Throws for one that no rollout can restart. */
export function parseOwner(text: string): WorkloadName {
  const [namespace, kind, name] = text.split('/');
  if (
    namespace === undefined ||
    name === undefined ||
    (kind !== 'Deployment' && kind !== 'StatefulSet' && kind !== 'DaemonSet')
  ) {
    throw new Error(`${text} is no workload that can be restarted`);
  }
  return { kind, namespace, name };
}

/** When the drain under way began, by the wall clock, which pods tell too. */
export function drainSince({ status }: TalosOperation, aheadMs: number): number | undefined {
  const { drainStartedAt } = status.caRotation;
  return drainStartedAt === undefined ? undefined : Date.parse(drainStartedAt) + Math.max(0, aheadMs);
}

async function readDraining(client: KubeClient, node: string, { session, operation, aheadMs }: KubernetesInput) {
  const { evict } = planDrain(await podsOnNode(client, node), { since: drainSince(operation, aheadMs) });
  return evict.map((pod) => {
    const name = `${pod.namespace}/${pod.name}`;
    const heldBy = session.drainHeld.get(name);
    return { pod: name, ...(heldBy === undefined ? {} : { heldBy }) };
  });
}

async function readUnready(client: KubeClient): Promise<string[]> {
  // DaemonSets alone have thousands of pods there, and this is read in every look.
  const labelSelector = `k8s-app in (${[...CONTROL_PLANE_APPS].join(',')})`;
  const pods = await listPods(client, { namespace: 'kube-system', labelSelector });
  return pods
    .filter(isControlPlanePod)
    .filter((pod) => !isReady(pod))
    .map((pod) => pod.metadata.name)
    .sort();
}

const CONTROL_PLANE_APPS: ReadonlySet<string> = new Set([
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
]);

function isControlPlanePod(pod: PodObject): boolean {
  return CONTROL_PLANE_APPS.has(pod.metadata.labels?.['k8s-app'] ?? '');
}

function isReady(pod: PodObject): boolean {
  return pod.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
}
