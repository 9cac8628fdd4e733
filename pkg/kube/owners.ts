import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { listAll } from './lists.ts';
import type { KubeObject, PodObject } from './objects.ts';
import { controllerOf, isFinished, isMirrorPod, listPods, mountsRootCa } from './pods.ts';
import { parseTime } from './times.ts';

/** What keeps a group of pods alive. `Pod` is a pod without owner; `Other` any owner that we do not know how to restart. */
export type OwnerKind = 'Deployment' | 'StatefulSet' | 'DaemonSet' | 'ReplicaSet' | 'Job' | 'Pod' | 'Other';

/** Pods with one owner that have not been restarted since a moment. */
export interface StalePods {
  readonly owner: OwnerKind;
  readonly namespace: string;
  /** Name of the owner; of an `Other` one with its kind, as in `Rollout/web`. */
  readonly name: string;
  /** Names of its stale pods, sorted. */
  readonly pods: readonly string[];
  /** The oldest start among them, ms since the epoch, by the clock of its node. */
  readonly oldestStartAt: number;
  /** `restartWorkload` can bring new pods: a Deployment, StatefulSet or DaemonSet. The others are their owner's to restart. */
  readonly restartable: boolean;
}

/** Which pods count. */
export interface StaleQuery extends CallOptions {
  /** Pods that were made before this, ms since the epoch, with a container that started before it or soon after. */
  readonly startedBefore: number;
  readonly namespace?: string | undefined;
}

/**
 * Pods that mount `kube-root-ca.crt` and have a container that started before a moment, grouped by owner and sorted by
 * namespace, owner kind and name. A program that read the CA at its start still has the one of that time; one that reads
 * the file again has the new one a minute or so after it changed, and is listed all the same because nobody can tell.
 */
export async function listStalePods(client: KubeClient, query: StaleQuery): Promise<readonly StalePods[]> {
  const { startedBefore, namespace, ...options } = query;
  const pods = await listPods(client, { ...options, namespace });
  const stale = pods.filter(
    (pod) => usesRootCa(pod) && madeAt(pod) < startedBefore && startOf(pod) < startedBefore + REWRITTEN_WITHIN_MS,
  );
  const replicaSets = stale.some((pod) => controllerOf(pod)?.kind === 'ReplicaSet')
    ? await deploymentsByReplicaSet(client, options)
    : new Map<string, string>();
  return group(stale, replicaSets);
}

/**
 * In a pod that is there already, the kubelet writes a changed ConfigMap anew within its sync period and the age of its
 * cache: a container that starts again meanwhile reads the old file. It also covers a node whose clock is that much ahead.
 */
const REWRITTEN_WITHIN_MS = 120_000;

/** By the clock of the API servers. A pod that is made after the change has the new file, whatever the clock of its node says. */
function madeAt(pod: PodObject): number {
  return parseTime(pod.metadata.creationTimestamp) ?? Number.NEGATIVE_INFINITY;
}

function usesRootCa(pod: PodObject): boolean {
  return !isMirrorPod(pod) && !isFinished(pod) && pod.metadata.deletionTimestamp === undefined && mountsRootCa(pod);
}

/** The oldest running container counts: each reads its files at its own start. A pod that has none yet starts later. */
function startOf(pod: PodObject): number {
  const starts = (pod.status?.containerStatuses ?? [])
    .map((container) => parseTime(container.state?.running?.startedAt))
    .filter((start) => start !== undefined);
  return Math.min(...starts);
}

async function deploymentsByReplicaSet(client: KubeClient, options: CallOptions): Promise<ReadonlyMap<string, string>> {
  const { items } = await listAll<KubeObject>(client, {
    path: pathOf('apis', 'apps', 'v1', 'replicasets'),
    metadataOnly: true,
    doing: 'list the ReplicaSets',
    ...options,
  });
  const found = new Map<string, string>();
  for (const set of items) {
    const owner = controllerOf(set);
    if (owner?.kind === 'Deployment' && isApps(owner.apiVersion)) found.set(set.metadata.uid, owner.name);
  }
  return found;
}

function group(pods: readonly PodObject[], replicaSets: ReadonlyMap<string, string>): StalePods[] {
  const groups = new Map<string, PodObject[]>();
  for (const pod of pods) {
    const { owner, name } = ownerOf(pod, replicaSets);
    const key = JSON.stringify([pod.metadata.namespace ?? '', owner, name]);
    groups.set(key, [...(groups.get(key) ?? []), pod]);
  }
  return [...groups.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, members]) => {
      const [namespace, owner, name] = JSON.parse(key) as [string, OwnerKind, string];
      return {
        owner,
        namespace,
        name,
        pods: members.map((pod) => pod.metadata.name).sort(),
        oldestStartAt: Math.min(...members.map(startOf)),
        restartable: owner === 'Deployment' || owner === 'StatefulSet' || owner === 'DaemonSet',
      };
    });
}

function ownerOf(pod: PodObject, replicaSets: ReadonlyMap<string, string>): { owner: OwnerKind; name: string } {
  const owner = controllerOf(pod);
  if (owner === undefined) return { owner: 'Pod', name: pod.metadata.name };
  if (owner.kind === 'ReplicaSet' && isApps(owner.apiVersion)) {
    const deployment = replicaSets.get(owner.uid);
    return deployment === undefined
      ? { owner: 'ReplicaSet', name: owner.name }
      : { owner: 'Deployment', name: deployment };
  }
  if ((owner.kind === 'StatefulSet' || owner.kind === 'DaemonSet') && isApps(owner.apiVersion)) {
    return { owner: owner.kind, name: owner.name };
  }
  if (owner.kind === 'Job') return { owner: 'Job', name: owner.name };
  return { owner: 'Other', name: `${owner.kind}/${owner.name}` };
}

/** Other projects have kinds of the same names that a restart of ours would not reach. */
function isApps(apiVersion: string): boolean {
  return apiVersion.startsWith('apps/');
}
