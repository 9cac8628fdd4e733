import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { listAll } from './lists.ts';
import type { DisruptionBudgetObject, WorkloadObject } from './objects.ts';
import { selects } from './selectors.ts';
import { parseTime, toTime } from './times.ts';

/** A workload whose pods can be replaced by a new rollout. */
export interface WorkloadName {
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  readonly namespace: string;
  readonly name: string;
}

/** How far a rollout is. */
export type RolloutState =
  | { readonly done: true }
  | {
      readonly done: false;
      /** What is missing, with numbers. */
      readonly message: string;
    };

const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';
const PLURAL = { Deployment: 'deployments', StatefulSet: 'statefulsets', DaemonSet: 'daemonsets' } as const;

/** Reads a workload. KubeError `not-found` when it is gone. */
export async function readWorkload(
  client: KubeClient,
  of: WorkloadName,
  options: CallOptions = {},
): Promise<WorkloadObject> {
  return await client.request<WorkloadObject>({
    method: 'GET',
    path: pathFor(of),
    doing: `read the ${of.kind} ${of.namespace}/${of.name}`,
    ...options,
  });
}

/**
 * Starts a rollout that replaces every pod, as `kubectl rollout restart` does and with the same annotation, which GitOps
 * tools know to leave alone. `at` (ms since the epoch) is what is written: the same `at` twice starts one rollout.
 */
export async function restartWorkload(
  client: KubeClient,
  of: WorkloadName,
  at: number,
  options: CallOptions = {},
): Promise<WorkloadObject> {
  return await client.request<WorkloadObject>({
    method: 'PATCH',
    path: pathFor(of),
    body: { spec: { template: { metadata: { annotations: { [RESTARTED_AT]: toTime(at) } } } } },
    contentType: 'application/merge-patch+json',
    doing: `restart the ${of.kind} ${of.namespace}/${of.name}`,
    ...options,
  });
}

/**
 * When a rollout was last asked for, by us or by kubectl, in ms since the epoch, whole seconds; `undefined` where it never was,
 * or where somebody has written there what is no time.
 */
export function restartAskedAt({ spec }: WorkloadObject): number | undefined {
  const text = spec.template.metadata?.annotations?.[RESTARTED_AT];
  try {
    return parseTime(text);
  } catch {
    return undefined;
  }
}

/** Why a restart would not replace pods by itself, in one clause; `undefined` when it would. */
export function whyNotRestartable(workload: WorkloadObject): string | undefined {
  if (workload.spec.paused === true) return 'its rollouts are paused';
  if (workload.spec.updateStrategy?.type === 'OnDelete')
    return 'it replaces a pod only when somebody deletes it (OnDelete)';
  return undefined;
}

/** Whether the latest rollout has replaced every pod and all of them are available. */
export function rolloutState(kind: WorkloadName['kind'], workload: WorkloadObject): RolloutState {
  const { metadata, spec, status = {} } = workload;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return { done: false, message: 'its controller has not seen the change yet' };
  }
  const isDaemonSet = kind === 'DaemonSet';
  const wanted = (isDaemonSet ? status.desiredNumberScheduled : spec.replicas) ?? (isDaemonSet ? 0 : 1);
  const updated = (isDaemonSet ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0;
  const available = (isDaemonSet ? status.numberAvailable : status.availableReplicas) ?? 0;
  const surplus = isDaemonSet ? 0 : (status.replicas ?? 0) - updated;
  if (updated < wanted) return { done: false, message: `${updated} of ${wanted} pods are new` };
  if (surplus > 0) return { done: false, message: `${surplus} old pods are still there` };
  if (available < wanted) return { done: false, message: `${available} of ${wanted} new pods are available` };
  return { done: true };
}

/** A budget that forbids a disruption of a workload's pods for now. */
export interface ExhaustedBudget {
  readonly name: string;
  /** Numbers as the budget's status has them. */
  readonly message: string;
}

/**
 * The first budget of the workload's namespace that covers its pods and allows no disruption, or whose status is not up to
 * date. A rollout does not ask budgets by itself (only evictions do), so whoever starts one asks here first.
 */
export async function exhaustedBudget(
  client: KubeClient,
  namespace: string,
  workload: WorkloadObject,
  options: CallOptions = {},
): Promise<ExhaustedBudget | undefined> {
  const { items } = await listAll<DisruptionBudgetObject>(client, {
    path: pathOf('apis', 'policy', 'v1', 'namespaces', namespace, 'poddisruptionbudgets'),
    doing: `list the PodDisruptionBudgets of ${namespace}`,
    ...options,
  });
  const labels = workload.spec.template.metadata?.labels ?? {};
  for (const { metadata, spec, status } of items) {
    if (!selects(spec.selector, labels)) continue;
    if (status === undefined || (status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
      return { name: metadata.name, message: 'its status is not up to date' };
    }
    if (status.disruptionsAllowed < 1) {
      const { currentHealthy, desiredHealthy } = status;
      return { name: metadata.name, message: `it needs ${desiredHealthy} healthy pods and has ${currentHealthy}` };
    }
  }
  return undefined;
}

function pathFor({ kind, namespace, name }: WorkloadName): string {
  return pathOf('apis', 'apps', 'v1', 'namespaces', namespace, PLURAL[kind], name);
}
