import type { Reason } from '../../api/v1alpha1/index.ts';
import { type Context, elapsedSince } from './context.ts';
import { type Blocker, blockedBy, type Decision, PROVING_RECHECK_MS, RECHECK_MS, waitFor } from './decision.ts';

/** What passes by itself for a while after we changed something; anything else blocks at once. */
const PASSES: ReadonlySet<Reason> = new Set<Reason>([
  'MachineUnknown',
  'MachineUntrusted',
  'MachineListIncomplete',
  'KubernetesUnknown',
  'EtcdNotWhole',
  'EtcdPkiNotLoaded',
  'ApiServerNotReady',
  'NodeNotReady',
  'ControlPlanePodNotReady',
  'ProvingMachine',
  'RenewingTalosAccess',
  'SettlingAggregator',
  'PublishingRootCA',
  'ResettingAuthentication',
  'ProvingRefusal',
]);

/**
 * Turns a blocker into a wait while the disturbance may be ours (a restart that
 * we caused is over within the grace time), and into a block after that.
 */
export function hold(context: Context, blocker: Blocker): Decision {
  return passesByItself(blocker) && sinceLastChange(context) < context.settings.graceMs
    ? waitFor(blocker, blocker.reason === 'ProvingMachine' ? PROVING_RECHECK_MS : RECHECK_MS)
    : blockedBy(blocker);
}

/** Whether this may pass without anybody doing something about it. */
export function passesByItself(blocker: Blocker): boolean {
  return PASSES.has(blocker.reason);
}

/** Milliseconds since we last changed something that disturbs a machine. */
export function sinceLastChange(context: Context): number {
  const { applied, etcdRestartedAt, stageStartedAt } = context.status;
  const times = [...applied.map((each) => each.appliedAt), etcdRestartedAt, stageStartedAt];
  return Math.min(...times.map((time) => elapsedSince(context, time)));
}
