/**
 * One state of the protocol: what is stored, what our program is doing, and what
 * every control plane is like. Values are small numbers with names, because a
 * state is packed into a few 32-bit words and there are millions of them.
 */
export interface State extends Status, Process, Left {
  readonly machines: readonly Machine[];
}

/** What the store holds: it outlives every crash (`status.caRotation`, the record, the bundle). */
export interface Status {
  readonly stage: Value<typeof STAGE>;
  /** Whether the new certificate authorities and their keys are in the rotation record. */
  readonly stored: boolean;
  /** Whether the bundle holds the new ones. */
  readonly replaced: boolean;
  /** Whether the operation is let go: nothing is left to be done for it. */
  readonly released: boolean;
  /** The machine that is being rebooted, or {@link NOBODY}, and whether it is still in the boot that it should leave. */
  readonly marker: number;
  readonly markerHere: boolean;
  /** The machine that is being drained, and the one that was asked to hand over the leadership of etcd. */
  readonly draining: number;
  readonly forfeited: number;
}

/** Our program between a look and the last write that follows from it; a crash loses all of this. */
export interface Process {
  readonly doing: Value<typeof DOING>;
  readonly step: Value<typeof STEP>;
  readonly target: number;
  /** Whether the target is still in the boot in which it was looked at. */
  readonly sameBoot: boolean;
}

/** How many faults may still come; {@link ENDLESS} is any number of them. */
export interface Left {
  readonly calls: number;
  readonly foreign: number;
  readonly restores: number;
}

/** One control plane. Stages of configurations are places in {@link CONFIGURATIONS}. */
export interface Machine {
  /** The configuration that it stores, and the one that its controllers have made certificates of. */
  readonly config: number;
  readonly took: number;
  /** Whom its etcd and its kube-apiserver trust: read at their start, and never again. */
  readonly pool: Value<typeof POOL>;
  readonly apiPool: Value<typeof POOL>;
  readonly phase: Value<typeof PHASE>;
  /** Whether it is away because of us. */
  readonly byUs: boolean;
  /** The record of the boot in which it was told of this stage. */
  readonly told: Value<typeof TOLD>;
  readonly cordon: Value<typeof CORDON>;
  /** The note in the status that a call to it may be under way. */
  readonly note: Value<typeof NOTE>;
  /** A call that is under way although nobody waits for it any more: 0 none, 1 to 3 an apply of that stage, 4 a reboot. */
  readonly call: number;
  /** The same of a request to Kubernetes. */
  readonly late: Value<typeof LATE>;
  /** An older disk of it was put back, and it has not served since. */
  readonly restored: boolean;
}

/** The values of an object of names. */
export type Value<T> = T[keyof T];

/** Stages of configurations, in their order. */
export const CONFIGURATIONS = ['Before', 'Accepting', 'Issuing', 'Dropping'] as const;

/** Stages of the rotation, in their order. */
export const STAGE = {
  Pending: 0,
  Accepting: 1,
  AwaitingCredentials: 2,
  Issuing: 3,
  Dropping: 4,
  Finalizing: 5,
  Done: 6,
} as const;

/** What the program does; one thing at a time. */
export const DOING = {
  nothing: 0,
  apply: 1,
  cordon: 2,
  /** Only the status names the machine: it is cordoned already. */
  choose: 3,
  forfeit: 4,
  reboot: 5,
  /** Asks again for a reboot that did not happen. */
  retry: 6,
  /** Lets pods back onto a machine that has rebooted, and takes the marker away. */
  back: 7,
  /** Lets go of a machine that was being drained and need not reboot any more. */
  release: 8,
  /** Uncordons what is left over at the end. */
  leftover: 9,
  enter: 10,
  record: 11,
  replace: 12,
  complete: 13,
  /** Forgets a call that can no longer land. */
  forget: 14,
  /** Notes the boot of a machine that stands at the stage without a record of it. */
  remember: 15,
  /** Asks pods to go; decided on and done in one, so that no state holds it. */
  drain: 16,
} as const;

/** How far it is: decided on a picture of the cluster, marked durably, sent with a reply, or sent and refused. */
export const STEP = { decided: 0, marked: 1, replied: 2, refused: 3 } as const;

/** Certificate authorities that a process trusts; `none` while it does not run. */
export const POOL = { none: 0, old: 1, both: 2, new: 3 } as const;

/** What runs on a machine. */
export const PHASE = {
  serving: 0,
  /** Everything, but its static pods are about to restart. */
  due: 1,
  /** etcd alone. */
  podsDown: 2,
  /** Everything but etcd. */
  etcdDown: 3,
  /** Everything, until its reboot takes it down. */
  stopping: 4,
  down: 5,
  /** Talos and nothing else. */
  booting: 6,
  /** The static pods have started and are not ready. */
  starting: 7,
} as const;

/** Not told of this stage; told in the boot that it is in; told, and in another boot since. */
export const TOLD = { not: 0, here: 1, before: 2 } as const;

/** Pods may come; no new ones; none are left. */
export const CORDON = { open: 0, cordoned: 1, drained: 2 } as const;

/** What was sent, and whether the machine is still in the boot that it was sent to. */
export const NOTE = { none: 0, applyHere: 1, applyBefore: 2, rebootHere: 3, rebootBefore: 4 } as const;

/** A request to Kubernetes that lands later. */
export const LATE = { none: 0, cordon: 1, uncordon: 2 } as const;

/** {@link Machine.call} for a reboot. */
export const REBOOT = 4;

/** No machine: {@link Status.marker} and the like. */
export const NOBODY = 7;

/** Faults without end: {@link Left}. */
export const ENDLESS = 3;

/** A healthy cluster before the rotation. */
export function initialState(controlPlanes: number, left: Left): State {
  const machine: Machine = {
    config: 0,
    took: 0,
    pool: POOL.old,
    apiPool: POOL.old,
    phase: PHASE.serving,
    byUs: false,
    told: TOLD.not,
    cordon: CORDON.open,
    note: NOTE.none,
    call: 0,
    late: LATE.none,
    restored: false,
  };
  return {
    stage: STAGE.Pending,
    stored: false,
    replaced: false,
    released: false,
    marker: NOBODY,
    markerHere: false,
    draining: NOBODY,
    forfeited: NOBODY,
    ...IDLE,
    ...left,
    machines: Array.from({ length: controlPlanes }, () => machine),
  };
}

/** A program that is about to look. */
export const IDLE: Process = { doing: DOING.nothing, step: STEP.decided, target: NOBODY, sameBoot: false };

/** The state with one machine changed. */
export function withMachine(state: State, index: number, change: Partial<Machine>): State {
  const machines = state.machines.slice();
  machines[index] = { ...machineAt(state, index), ...change };
  return { ...state, machines };
}

/** The machine at an index that is known to be one. */
export function machineAt({ machines }: State, index: number): Machine {
  const machine = machines[index];
  if (machine === undefined) throw new Error(`the model has no machine ${index}`);
  return machine;
}

/** The configuration that machines carry in a stage. */
export function configOf(stage: State['stage']): number {
  return CONFIG_OF_STAGE[stage];
}

const CONFIG_OF_STAGE = [0, 1, 1, 2, 3, 3, 3] as const;

/** What a process that starts with this configuration trusts. */
export function poolOf(config: number): Machine['pool'] {
  return config === 0 ? POOL.old : config === 3 ? POOL.new : POOL.both;
}
