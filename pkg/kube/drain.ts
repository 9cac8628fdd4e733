import type { KubeClient } from './client.ts';
import { type EvictedPod, planDrain } from './drain-plan.ts';
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

/** One round of a drain: what is left after everything that may go was asked to go. */
export interface DrainRound {
  /** Empty when nothing that a drain evicts is left on the node. */
  readonly left: readonly HeldPod[];
  /** The earliest time at which asking again makes sense, in ms from now. */
  readonly askAgainMs: number;
}

/** The outcome of a whole drain. */
export type DrainResult =
  | { readonly done: true; readonly rounds: number }
  | {
      readonly done: false;
      readonly rounds: number;
      readonly left: readonly HeldPod[];
      /** One sentence for people that names every pod that is left and what holds it. */
      readonly message: string;
    };

/** What to drain, and for how long to try. */
export interface DrainRequest {
  readonly node: string;
  /** The drain gives up after this time, in ms, and says what is left. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called after each round, for progress. */
  readonly onRound?: ((round: DrainRound) => void) | undefined;
}

/** How often pods that are on their way out are looked at. */
const LOOK_AGAIN_MS = 1_000;

/** Evictions in flight at once. */
const AT_ONCE = 8;

/**
 * Evicts what `planDrain` says until the node is empty of it or the deadline has passed; every round reads the pods anew,
 * so it may be broken off and called again. Giving up is a value, not an error. KubeError when a call fails otherwise.
 */
export async function drainNode(client: KubeClient, request: DrainRequest): Promise<DrainResult> {
  const { clock } = client;
  const endsAt = clock.monotonic() + request.deadlineMs;
  for (let rounds = 1; ; rounds += 1) {
    const round = await drainRound(client, request.node, request.signal);
    request.onRound?.(round);
    if (round.left.length === 0) return { done: true, rounds };
    const leftMs = endsAt - clock.monotonic();
    if (leftMs <= 0) return { done: false, rounds, left: round.left, message: sentence(request, round.left) };
    await clock.sleep(Math.min(round.askAgainMs, leftMs), request.signal);
  }
}

/** One round: reads the pods of the node and asks once for each eviction that is still due. */
export async function drainRound(client: KubeClient, node: string, signal?: AbortSignal): Promise<DrainRound> {
  const { evict } = planDrain(await podsOnNode(client, node, { signal }));
  const left: HeldPod[] = [];
  let askAgainMs = LOOK_AGAIN_MS;
  const queue = [...evict];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let pod = queue.shift(); pod !== undefined; pod = queue.shift()) {
        const asked = await askToLeave(client, pod, signal);
        left.push(asked.held);
        askAgainMs = Math.max(askAgainMs, asked.retryAfterMs);
      }
    }),
  );
  // While some are only on their way out there is something to see sooner.
  if (left.some((pod) => pod.why === 'leaving')) askAgainMs = LOOK_AGAIN_MS;
  return { left: left.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)), askAgainMs };
}

async function askToLeave(
  client: KubeClient,
  pod: EvictedPod,
  signal: AbortSignal | undefined,
): Promise<{ held: HeldPod; retryAfterMs: number }> {
  const { namespace, name } = pod;
  const leaving = { namespace, name, why: 'leaving', budget: undefined, detail: 'in its grace period' } as const;
  if (pod.leaving) return { held: leaving, retryAfterMs: 0 };
  try {
    const result = await evictPod(client, pod, { signal });
    // Even `gone` is believed only when the next round does not see the pod any more.
    if (result.kind !== 'held') return { held: leaving, retryAfterMs: 0 };
    const { budget, why, retryAfterMs } = result;
    return { held: { namespace, name, why: 'budget', budget, detail: why }, retryAfterMs };
  } catch (error) {
    // The rest of the node can go meanwhile; this one is reported with what the server or its webhook said.
    if (!isKubeError(error, 'forbidden', 'invalid', 'webhook', 'server-error')) throw error;
    return { held: { namespace, name, why: 'refused', budget: undefined, detail: error.found }, retryAfterMs: 5_000 };
  }
}

function sentence(request: DrainRequest, left: readonly HeldPod[]): string {
  const pods = left.map((pod) => {
    if (pod.why === 'leaving') return `${nameOf(pod)} (evicted, still in its grace period)`;
    if (pod.why === 'refused') return `${nameOf(pod)} (eviction refused: ${pod.detail})`;
    return `${nameOf(pod)} (PodDisruptionBudget ${pod.budget ?? 'unnamed'}: ${pod.detail})`;
  });
  const seconds = Math.round(request.deadlineMs / 1_000);
  return `draining the node ${request.node} did not finish within ${seconds} s; still there: ${pods.join(', ')}`;
}

function nameOf(pod: HeldPod): string {
  return `${pod.namespace}/${pod.name}`;
}
