import type { PodObject } from './objects.ts';
import { controllerOf, isFinished, isMirrorPod } from './pods.ts';
import { parseTime } from './times.ts';

/** A pod that a drain evicts. */
export interface EvictedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** No controller: nobody brings it back. It is evicted all the same, and the plan must say so. */
  readonly unmanaged: boolean;
  /** Has an emptyDir volume: its contents are lost with it. */
  readonly losesData: boolean;
  /** Already being deleted: it is only waited for. */
  readonly leaving: boolean;
}

/** A pod that a drain leaves alone. */
export interface StayingPod {
  readonly namespace: string;
  readonly name: string;
  /**
   * A DaemonSet would put it back at once; the kubelet runs mirror pods from files; `returned`: it tolerates the cordon,
   * and was made here after the drain began, as it would be again after every eviction.
   */
  readonly why: 'daemon-set' | 'mirror' | 'returned';
}

/** What draining a node would do. */
export interface DrainPlan {
  readonly evict: readonly EvictedPod[];
  readonly stay: readonly StayingPod[];
}

/** When the drain began, ms since the epoch; without it every pod is evicted that is there. */
export interface DrainOptions {
  readonly since?: number | undefined;
}

/**
 * Sorts the pods of one node as `kubectl drain --ignore-daemonsets --delete-emptydir-data --force` does. Pods without a
 * controller are evicted too: the machine reboots either way, and an orderly end within their grace period is better for
 * them than the cut. Like kubectl, it waits for nobody who came after it began: cilium-operator, which tolerates
 * everything, comes back at once to the only control plane that there is.
 */
export function planDrain(pods: readonly PodObject[], { since }: DrainOptions = {}): DrainPlan {
  const evict: EvictedPod[] = [];
  const stay: StayingPod[] = [];
  for (const pod of [...pods].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    const at = { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name };
    if (isMirrorPod(pod)) stay.push({ ...at, why: 'mirror' });
    else if (controllerOf(pod)?.kind === 'DaemonSet' && !isFinished(pod)) stay.push({ ...at, why: 'daemon-set' });
    else if (toleratesCordon(pod) && isMadeAfter(pod, since)) stay.push({ ...at, why: 'returned' });
    else {
      evict.push({
        ...at,
        uid: pod.metadata.uid,
        unmanaged: controllerOf(pod) === undefined,
        losesData: (pod.spec.volumes ?? []).some((volume) => volume.emptyDir !== undefined),
        leaving: pod.metadata.deletionTimestamp !== undefined,
      });
    }
  }
  return { evict, stay };
}

/** The taint of a Node that is cordoned; the scheduler looks at it in place of the field. */
const CORDONED = 'node.kubernetes.io/unschedulable';

function toleratesCordon({ spec }: PodObject): boolean {
  return (spec.tolerations ?? []).some(
    ({ key = '', operator, effect = '' }) =>
      (key === CORDONED || (key === '' && operator === 'Exists')) && (effect === '' || effect === 'NoSchedule'),
  );
}

/** By the clock of the API servers, in whole seconds: of the second in which it began, it is asked to go once more. */
function isMadeAfter({ metadata }: PodObject, since = Number.POSITIVE_INFINITY): boolean {
  const madeAt = parseTime(metadata.creationTimestamp);
  return madeAt !== undefined && madeAt >= since;
}

function keyOf(pod: PodObject): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}
