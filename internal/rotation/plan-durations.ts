import { anyTarget, type Context, controlPlanes } from './context.ts';
import type { PlanStage } from './plan.ts';

/** How long things take, milliseconds. */
export interface Durations {
  /** From the request of a control plane's reboot to a cluster that is whole again. */
  readonly rebootMs: number;
  /** How much of it the Kubernetes API of that machine is away. */
  readonly apiServerAwayMs: number;
  /** From an apply to a new kube-apiserver that is proved, with the other control plane pods. */
  readonly apiServerRestartMs: number;
  /** How much of that the kube-apiserver of that machine does not answer. */
  readonly apiServerPauseMs: number;
  /**
   * The same two where the kubelet goes on: it ends the static pods before it starts new ones, and starts them
   * at one of its next looks. A kubelet that restarts with them starts them at once.
   */
  readonly apiServerSlowRestartMs: number;
  readonly apiServerSlowPauseMs: number;
  /** From an apply that restarts nothing to its proof. */
  readonly applyMs: number;
  /** One batch of workers. */
  readonly workerMs: number;
}

/** Something that does not answer for a while. */
export interface PlanOutage {
  readonly what: string;
  readonly times: number;
  readonly aboutMsEach: number;
}

/** Where nothing was measured on this cluster: what real Talos 1.14.1 showed on two cores (`measured`, docs/reference/talos-observed.md). */
const SEEN: Durations = {
  rebootMs: 60_000,
  apiServerAwayMs: 40_000,
  apiServerRestartMs: 23_000,
  apiServerPauseMs: 5_000,
  apiServerSlowRestartMs: 60_000,
  apiServerSlowPauseMs: 45_000,
  applyMs: 3_000,
  workerMs: 5_000,
};

/** Measured durations, completed by the usual ones; of a reboot that was measured, the API is away for the usual part. */
export function durationsOf(measured: Partial<Durations>): Durations {
  const { rebootMs = SEEN.rebootMs } = measured;
  const apiServerAwayMs = Math.round((rebootMs * SEEN.apiServerAwayMs) / SEEN.rebootMs);
  return { ...SEEN, apiServerAwayMs, ...measured };
}

/** From an apply to the proof of a control plane, ms. */
export function tellMs(context: Context, durations: Durations): number {
  if (!anyTarget(context, (target) => target.restartsApiServer)) return durations.applyMs;
  return restartsKubelet(context) ? durations.apiServerRestartMs : durations.apiServerSlowRestartMs;
}

function restartsKubelet(context: Context): boolean {
  return anyTarget(context, (target) => target.restartsKubelet);
}

/** What will not answer, how often and for how long. */
export function outagesOf(context: Context, stages: readonly PlanStage[], durations: Durations): PlanOutage[] {
  const planes = controlPlanes(context).length;
  const alone = planes === 1;
  const server = alone ? 'the Kubernetes API' : `one of ${planes} kube-apiservers`;
  const passes = stages.filter((stage) => stage.told.length > 0).length;
  const reboots = stages.reduce((sum, stage) => sum + (stage.rebootsSkippable ? 0 : stage.reboots.length), 0);
  const outages: PlanOutage[] = [];
  if (anyTarget(context, (target) => target.restartsApiServer)) {
    outages.push({
      what: `${server}, while it restarts`,
      times: passes * planes,
      aboutMsEach: restartsKubelet(context) ? durations.apiServerPauseMs : durations.apiServerSlowPauseMs,
    });
  }
  if (reboots > 0) {
    outages.push({
      what: alone
        ? 'the Kubernetes API and etcd, while the only control plane reboots'
        : `${server} and one member of etcd, while its machine reboots`,
      times: reboots,
      aboutMsEach: durations.apiServerAwayMs,
    });
  }
  return outages;
}
