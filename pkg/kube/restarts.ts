import type { KubeClient } from './client.ts';
import { isKubeError } from './errors.ts';
import {
  exhaustedBudget,
  readWorkload,
  restartWorkload,
  rolloutState,
  type WorkloadName,
  whyNotRestartable,
} from './workloads.ts';

/** What became of one workload. */
export type RestartOutcome =
  | { readonly workload: WorkloadName; readonly result: 'restarted' | 'gone' }
  | {
      readonly workload: WorkloadName;
      /** `skipped`: a restart would replace nothing. `held`: a budget allowed no disruption. `stuck`: the rollout did not end. */
      readonly result: 'skipped' | 'held' | 'stuck';
      readonly message: string;
    };

/** Which workloads to restart, and how gently. */
export interface RestartRequest {
  readonly workloads: readonly WorkloadName[];
  /** How many rollouts run at once. */
  readonly atOnce: number;
  /** For each workload: how long to wait for its budgets and then for its rollout, in ms. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly onOutcome?: ((outcome: RestartOutcome) => void) | undefined;
}

const LOOK_AGAIN_MS = 2_000;

/**
 * Restarts workloads a few at a time; each starts only when the budgets over its pods allow a disruption, and makes room
 * for the next only when all of its new pods are available. One that does not get through is told and does not stop the
 * others. In the order of the request; KubeError when a call fails otherwise.
 */
export async function restartWorkloads(
  client: KubeClient,
  request: RestartRequest,
): Promise<readonly RestartOutcome[]> {
  const outcomes: RestartOutcome[] = [];
  const queue = [...request.workloads.entries()];
  await Promise.all(
    Array.from({ length: Math.max(1, request.atOnce) }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [index, workload] = next;
        const outcome = await restartOne(client, workload, request);
        outcomes[index] = outcome;
        request.onOutcome?.(outcome);
      }
    }),
  );
  return outcomes;
}

async function restartOne(
  client: KubeClient,
  workload: WorkloadName,
  request: RestartRequest,
): Promise<RestartOutcome> {
  try {
    const before = await readWorkload(client, workload, { signal: request.signal });
    const skipped = whyNotRestartable(before);
    if (skipped !== undefined) return { workload, result: 'skipped', message: skipped };
    const held = await until(client, request, async () => {
      const budget = await exhaustedBudget(client, workload.namespace, before, { signal: request.signal });
      return budget === undefined ? undefined : `PodDisruptionBudget ${budget.name}: ${budget.message}`;
    });
    if (held !== undefined) return { workload, result: 'held', message: held };
    await restartWorkload(client, workload, client.clock.now(), { signal: request.signal });
    const stuck = await until(client, request, async () => {
      const state = rolloutState(workload.kind, await readWorkload(client, workload, { signal: request.signal }));
      return state.done ? undefined : state.message;
    });
    return stuck === undefined ? { workload, result: 'restarted' } : { workload, result: 'stuck', message: stuck };
  } catch (error) {
    if (isKubeError(error, 'not-found')) return { workload, result: 'gone' };
    throw error;
  }
}

/** Asks until there is no answer any more; the last answer when the deadline has passed. */
async function until(
  client: KubeClient,
  request: RestartRequest,
  ask: () => Promise<string | undefined>,
): Promise<string | undefined> {
  const endsAt = client.clock.monotonic() + request.deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer === undefined || client.clock.monotonic() >= endsAt) return answer;
    await client.clock.sleep(LOOK_AGAIN_MS, request.signal);
  }
}
