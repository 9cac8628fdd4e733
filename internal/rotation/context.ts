import type { CaRotationStatus, CaStage, CaTarget } from '../../api/v1alpha1/index.ts';
import type { Blocker, Decision } from './decision.ts';
import type { MachineObservation, Observation, Reading, TalosReading, TargetMaterial } from './observation.ts';
import type { TargetDescriptor } from './targets/descriptor.ts';

/** Durations that a caller may shorten for a rehearsal; the defaults are the ones of the design. */
export interface Settings {
  /** Time that extension API servers get between reading the new aggregator CA and meeting it. */
  readonly aggregatorSettleMs: number;
  /** How long extension-apiserver-authentication must stay right after its reset. */
  readonly authenticationWatchMs: number;
  /** After how long a machine that still reports the boot it should leave is asked again. */
  readonly rebootRetryMs: number;
  /** After how long a machine that does not come back stops the rotation. */
  readonly rebootDeadlineMs: number;
  /** How long a drain may take before the pods that hold it are reported. */
  readonly drainDeadlineMs: number;
  /** How long the evacuation hook may be at work before that is reported. */
  readonly evacuationDeadlineMs: number;
  /** How long an expected disturbance may last before it counts as blocked. */
  readonly graceMs: number;
  /** After its deadline, how long a call of ours may still take effect on a machine that answers. */
  readonly quiescenceMarginMs: number;
  /** How long an abandoned rotation waits for machines that the new CAs cannot be taken back from. */
  readonly abandonPatienceMs: number;
  /** How long the restart of a workload may take before it counts as held. */
  readonly rolloutDeadlineMs: number;
  /** How many workers are told at once, after the canary. */
  readonly workersAtOnce: number;
  /** How many workloads are restarted at once. */
  readonly restartsAtOnce: number;
}

/** The durations of the design. */
export const DEFAULT_SETTINGS: Settings = {
  aggregatorSettleMs: 120_000,
  authenticationWatchMs: 120_000,
  rebootRetryMs: 300_000,
  rebootDeadlineMs: 1_200_000,
  drainDeadlineMs: 300_000,
  evacuationDeadlineMs: 3_600_000,
  graceMs: 180_000,
  quiescenceMarginMs: 10_000,
  abandonPatienceMs: 300_000,
  rolloutDeadlineMs: 1_200_000,
  workersAtOnce: 5,
  restartsAtOnce: 2,
};

/** Everything that a step, a gate or a target needs to answer its one question. */
export interface Context {
  readonly observation: Observation;
  readonly settings: Settings;
  readonly stage: CaStage;
  readonly status: CaRotationStatus;
  readonly targets: readonly TargetDescriptor[];
  readonly material: Readonly<Partial<Record<CaTarget, TargetMaterial>>>;
  /**
   * Machines that cannot become well before they are told, because they were left
   * two stages behind: gates ask how all the others are. Set only while one of
   * them is told, and while another one that was rebooted is let go.
   */
  readonly leftBehind?: ReadonlySet<string>;
  /** The control plane that is to be rebooted next; set only while it is asked whether the others can do without it. */
  readonly rebooted?: string;
}

/** A step of a stage: a decision, or `undefined` when it has nothing left to do. */
export type Step = (context: Context) => Decision | undefined;

/** A condition that must hold before a disruptive step: what is in the way, or `undefined`. */
export type Gate = (context: Context) => Blocker | undefined;

/** A machine whose Talos API answered. */
export interface KnownMachine extends MachineObservation {
  readonly talos: Extract<Reading<TalosReading>, { known: true }>;
}

/** The control planes, sorted by name. */
export function controlPlanes(context: Context): readonly MachineObservation[] {
  return context.observation.machines.filter((machine) => machine.role === 'controlplane');
}

/** The workers, sorted by name. */
export function workers(context: Context): readonly MachineObservation[] {
  return context.observation.machines.filter((machine) => machine.role === 'worker');
}

/** Whether the machine's own Talos API answered. */
export function isKnown(machine: MachineObservation): machine is KnownMachine {
  return machine.talos.known;
}

/** The first gate that is in the way, asked in order. */
export function firstBlocker(gates: readonly Gate[], context: Context): Blocker | undefined {
  for (const gate of gates) {
    const blocker = gate(context);
    if (blocker !== undefined) return blocker;
  }
  return undefined;
}

/** Whether a target of this rotation has the property. */
export function anyTarget(context: Context, has: (target: TargetDescriptor) => boolean): boolean {
  return context.targets.some(has);
}

/** Milliseconds since a timestamp of the status; Infinity for one that was never written. */
export function elapsedSince(context: Context, timestamp: string | undefined): number {
  return timestamp === undefined ? Number.POSITIVE_INFINITY : context.observation.now - Date.parse(timestamp);
}

/**
 * The same, and no longer than this process has looked at the operation: for what goes wrong when it is waited for
 * too short. A timestamp is of the clock of whoever wrote it; to a process on another host, or one that was started
 * after the clock was put on, something that has hardly begun would be over.
 */
export function waitedSince(context: Context, timestamp: string | undefined): number {
  const { now, watchedSince } = context.observation;
  return Math.min(elapsedSince(context, timestamp), now - watchedSince);
}

/** The observation's time as the status writes it. */
export function timestamp(context: Context): string {
  return new Date(context.observation.now).toISOString();
}
