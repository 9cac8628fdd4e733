import { DEFAULT_SETTINGS, type Settings, type Step } from '../../../internal/rotation/context.ts';
import type { Plan } from '../../../internal/rotation/plan.ts';
import { aggregatorSettled } from '../../../internal/rotation/stages/aggregator-settled.ts';
import { authenticationReset } from '../../../internal/rotation/stages/authentication-reset.ts';
import { descriptorsOf } from '../../../internal/rotation/targets/index.ts';

/** What Talos itself takes on this cluster, measured in the same run; milliseconds, one entry a measurement. */
export interface MeasuredSteps {
  /** From the request of a control plane's reboot until every gate holds again. */
  readonly boots: readonly number[];
  /** From a configuration change until a new kube-apiserver of that machine answers `/readyz`. */
  readonly apiServerRestarts: readonly number[];
}

/** The least that a rotation can take: what Talos must do, one control plane at a time, and what must be waited for. */
export interface Floor {
  readonly boots: number;
  /** Mean of the measured ones. */
  readonly bootMs: number;
  readonly apiServerRestarts: number;
  readonly apiServerRestartMs: number;
  /** Waits that are required whatever the machines do. */
  readonly settlesMs: number;
  readonly totalMs: number;
}

/**
 * Waits of a fixed length. What waits for an event instead, as for the
 * publication of kube-root-ca.crt, is left out: that makes the floor lower.
 */
const FIXED_SETTLES: readonly (readonly [Step, (settings: Settings) => number])[] = [
  [aggregatorSettled, (settings) => settings.aggregatorSettleMs],
  [authenticationReset, (settings) => settings.authenticationWatchMs],
];

/** The floor of a plan: its certain reboots, the API-server restarts of its passes, its settles. */
export function floorOf(plan: Plan, measured: MeasuredSteps, settings: Settings = DEFAULT_SETTINGS): Floor {
  const targets = descriptorsOf(plan.targets.map(({ name }) => name));
  const boots = plan.reboots.atLeast;
  const apiServerRestarts = targets.some((target) => target.restartsApiServer)
    ? plan.stages.flatMap(({ told }) => told.flat()).filter((name) => plan.controlPlanes.includes(name)).length
    : 0;
  const steps = new Set(plan.stages.flatMap(({ name }) => targets.flatMap((target) => target.settle[name] ?? [])));
  const settlesMs = FIXED_SETTLES.reduce((sum, [step, ms]) => sum + (steps.has(step) ? ms(settings) : 0), 0);
  const bootMs = meanOf(measured.boots);
  const apiServerRestartMs = meanOf(measured.apiServerRestarts);
  return {
    boots,
    bootMs,
    apiServerRestarts,
    apiServerRestartMs,
    settlesMs,
    totalMs: boots * bootMs + apiServerRestarts * apiServerRestartMs + settlesMs,
  };
}

function meanOf(times: readonly number[]): number {
  if (times.length === 0) throw new Error('nothing was measured');
  return times.reduce((sum, time) => sum + time, 0) / times.length;
}
