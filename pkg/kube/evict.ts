import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { isKubeError, type KubeError } from './errors.ts';

/** Which pod; the UID keeps a successor of the same name (of a StatefulSet) from being evicted instead. */
export interface PodName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * - `accepted`: it is being deleted now.
 * - `gone`: that very pod does not exist any more.
 * - `held`: a PodDisruptionBudget forbids it for now.
 */
export type EvictionResult =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'held';
      /** Name of the budget; `undefined` when the server did not name it. */
      readonly budget: string | undefined;
      /** The server's own words. */
      readonly why: string;
    };

/** Asks once for one eviction (policy/v1), within the pod's own grace period. KubeError when neither of the above is it. */
export async function evictPod(client: KubeClient, pod: PodName, options: CallOptions = {}): Promise<EvictionResult> {
  try {
    await client.request({
      method: 'POST',
      path: pathOf('api', 'v1', 'namespaces', pod.namespace, 'pods', pod.name, 'eviction'),
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: pod.name, namespace: pod.namespace },
        deleteOptions: { preconditions: { uid: pod.uid } },
      },
      contentType: 'application/json',
      doing: `evict the pod ${pod.namespace}/${pod.name}`,
      ...options,
    });
    return { kind: 'accepted' };
  } catch (error) {
    // A pod of the same name with another UID is a conflict: the one that we meant is gone.
    if (isKubeError(error, 'not-found', 'conflict')) return { kind: 'gone' };
    const held = isKubeError(error) ? heldBy(error) : undefined;
    if (held === undefined) throw error;
    return held;
  }
}

/** A refusal by a budget is a 429 with the cause DisruptionBudget; two budgets for one pod are a 500 that waits for people. */
function heldBy(error: KubeError): EvictionResult | undefined {
  const cause = error.causes.find(({ reason }) => reason === 'DisruptionBudget');
  if (cause !== undefined) {
    return {
      kind: 'held',
      budget: /disruption budget (\S+)/.exec(cause.message)?.[1],
      why: cause.message,
    };
  }
  if (error.kind === 'too-many-requests' || error.found.includes('more than one PodDisruptionBudget')) {
    return { kind: 'held', budget: undefined, why: error.found };
  }
  return undefined;
}
