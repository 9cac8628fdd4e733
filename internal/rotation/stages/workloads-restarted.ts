import { type Context, elapsedSince } from '../context.ts';
import { type Blocker, blockedBy, type Decision, waitFor } from '../decision.ts';
import { hold } from '../hold.ts';
import type { StaleWorkload } from '../observation.ts';
import { conditionOf } from './condition.ts';

/**
 * With `restartWorkloads: Rolling`, the owners of pods that started before the
 * new root CA was published are restarted a few at a time. One that cannot be
 * restarted now does not keep the others; when they are done it is named, and held
 * for. Without it they are only listed: restarting other people's workloads is their owners' decision.
 */
export function workloadsRestarted(context: Context): Decision | undefined {
  if (context.observation.operation.spec.restartWorkloads === 'Never') return undefined;
  const reading = context.observation.kubernetes.stalePods;
  if (reading === undefined)
    return waitFor({ reason: 'RestartingWorkloads', message: 'listing pods that started with the old root CA' });
  if (!reading.known) return hold(context, { reason: 'KubernetesUnknown', message: `pods: ${reading.message}` });
  const stale = reading.value.filter((workload) => workload.restartable).map((each) => heldWhenOverdue(context, each));
  if (stale.length === 0) return undefined;
  const restarting = stale.filter(({ restart }) => restart !== undefined);
  const next = stale.find(({ restart, heldBy }) => restart === undefined && heldBy === undefined);
  if (next === undefined && restarting.length === 0) return blockedBy(held(stale));
  if (next === undefined || restarting.length >= context.settings.restartsAtOnce) {
    return waitFor({
      reason: 'RestartingWorkloads',
      message: `restarting ${restarting.map((workload) => workload.owner).join(', ')}; ${stale.length} workloads left`,
    });
  }
  return {
    kind: 'act',
    effect: { kind: 'restart-workload', owner: next.owner },
    reason: 'RestartingWorkloads',
    message: `${next.owner}: ${next.pods} pods started with the old root CA; restarting it`,
  };
}

/**
 * A rollout that does not end (an image that cannot be pulled, new pods that never
 * become ready) makes room for the others and is named in the end. Its time counts
 * from the request, and from no earlier than the new root CA.
 */
function heldWhenOverdue(context: Context, { restart, ...workload }: StaleWorkload): StaleWorkload {
  if (restart === undefined) return workload;
  const asked = restart.since === undefined ? Number.POSITIVE_INFINITY : context.observation.now - restart.since;
  const { rolloutDeadlineMs } = context.settings;
  if (
    Math.min(asked, elapsedSince(context, conditionOf(context, 'RootCaPublished')?.lastTransitionTime)) <
    rolloutDeadlineMs
  )
    return { ...workload, restart };
  return {
    ...workload,
    heldBy: `its restart has not ended after ${rolloutDeadlineMs / 60_000} minutes: ${restart.message}`,
  };
}

/** Everything that is left is held by something that is not ours to change. */
function held(stale: readonly StaleWorkload[]): Blocker {
  const names = stale.map(({ owner, heldBy }) => `${owner} (${heldBy})`).join(', ');
  return {
    reason: 'RestartingWorkloads',
    message: `pods that started with the old root CA cannot be restarted: ${names}; expected their owners to replace these pods`,
  };
}
