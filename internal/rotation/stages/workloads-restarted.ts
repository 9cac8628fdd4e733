import type { Context } from '../context.ts';
import { type Blocker, blockedBy, type Decision, waitFor } from '../decision.ts';
import { hold } from '../hold.ts';
import type { StaleWorkload } from '../observation.ts';

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
  const stale = reading.value.filter((workload) => workload.restartable);
  if (stale.length === 0) return undefined;
  const restarting = stale.filter((workload) => workload.restarting);
  const next = stale.find((workload) => !workload.restarting && workload.heldBy === undefined);
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

/** Everything that is left is held by something that is not ours to change. */
function held(stale: readonly StaleWorkload[]): Blocker {
  const names = stale.map(({ owner, heldBy }) => `${owner} (${heldBy})`).join(', ');
  return {
    reason: 'RestartingWorkloads',
    message: `pods that started with the old root CA cannot be restarted: ${names}; expected their owners to replace these pods`,
  };
}
