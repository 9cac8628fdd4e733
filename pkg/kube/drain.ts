import type { KubeClient } from './client.ts';
import { type DrainOptions, type EvictedPod, planDrain } from './drain-plan.ts';
import { isKubeError } from './errors.ts';
import { evictPod } from './evict.ts';
import { podsOnNode } from './pods.ts';

/** A pod that is still on the node, and why. */
export interface HeldPod {
  readonly namespace: string;
  readonly name: string;
  /** `budget`: its PodDisruptionBudget allows no eviction. `leaving`: evicted, and still in its grace period. `refused`: see `detail`. */
  readonly why: 'budget' | 'leaving' | 'refused';
  /** Name of the budget, where the server named it. */
  readonly budget: string | undefined;
  readonly detail: string;
}

/** Evictions in flight at once. */
const AT_ONCE = 8;

/**
 * One round of a drain: reads the pods of the node and asks once for each eviction that is still due. What is still there
 * after it, by namespace and name; nothing when a drain has nothing more to evict. A round waits for nobody: the caller
 * asks for the next one, until one is empty. KubeError when a call fails, except for an eviction that is refused.
 */
export async function drainRound(
  client: KubeClient,
  node: string,
  options: DrainOptions = {},
): Promise<readonly HeldPod[]> {
  const { evict } = planDrain(await podsOnNode(client, node), options);
  const left: HeldPod[] = [];
  const queue = [...evict];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let pod = queue.shift(); pod !== undefined; pod = queue.shift()) left.push(await askToLeave(client, pod));
    }),
  );
  return left.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

async function askToLeave(client: KubeClient, pod: EvictedPod): Promise<HeldPod> {
  const { namespace, name } = pod;
  const leaving = { namespace, name, why: 'leaving', budget: undefined, detail: 'in its grace period' } as const;
  if (pod.leaving) return leaving;
  try {
    const result = await evictPod(client, pod);
    // Even `gone` is believed only when the next round does not see the pod any more.
    if (result.kind !== 'held') return leaving;
    return { namespace, name, why: 'budget', budget: result.budget, detail: result.why };
  } catch (error) {
    // The rest of the node can go meanwhile; this one is reported with what the server or its webhook said.
    if (!isKubeError(error, 'forbidden', 'invalid', 'webhook', 'server-error')) throw error;
    return { namespace, name, why: 'refused', budget: undefined, detail: error.found };
  }
}

function nameOf(pod: HeldPod): string {
  return `${pod.namespace}/${pod.name}`;
}
