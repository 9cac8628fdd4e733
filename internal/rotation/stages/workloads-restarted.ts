import type { Context } from '../context.ts';
import { type Decision, waitFor } from '../decision.ts';
import { hold } from '../hold.ts';

/**
 * With `restartWorkloads: Rolling`, the owners of pods that started before the
 * new root CA was published are restarted a few at a time. Without it they are
 * only listed: restarting other people's workloads is their owners' decision.
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
  const next = stale.find((workload) => !workload.restarting);
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
