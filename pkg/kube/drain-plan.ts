import type { PodObject } from './objects.ts';
import { controllerOf, isFinished, isMirrorPod } from './pods.ts';

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
  /** A DaemonSet would put it back at once; the kubelet runs mirror pods from files. */
  readonly why: 'daemon-set' | 'mirror';
}

/** What draining a node would do. */
export interface DrainPlan {
  readonly evict: readonly EvictedPod[];
  readonly stay: readonly StayingPod[];
}

/**
 * Sorts the pods of one node as `kubectl drain --ignore-daemonsets --delete-emptydir-data --force` does. Pods without a
 * controller are evicted too: the machine reboots either way, and an orderly end within their grace period is better for
 * them than the cut.
 */
export function planDrain(pods: readonly PodObject[]): DrainPlan {
  const evict: EvictedPod[] = [];
  const stay: StayingPod[] = [];
  for (const pod of [...pods].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    const at = { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name };
    if (isMirrorPod(pod)) stay.push({ ...at, why: 'mirror' });
    else if (controllerOf(pod)?.kind === 'DaemonSet' && !isFinished(pod)) stay.push({ ...at, why: 'daemon-set' });
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

function keyOf(pod: PodObject): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}
