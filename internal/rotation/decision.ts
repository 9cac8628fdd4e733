import type { CaRotationStatus, CaStage, CaTarget, OperationCondition, Reason } from '../../api/v1alpha1/index.ts';

/** One change of the world; at most one is in flight per cluster. */
export type Effect =
  /** Make the new certificate authorities and store them durably, before any machine is told. */
  | { readonly kind: 'write-record'; readonly targets: readonly CaTarget[] }
  /** Change only our own status. */
  | { readonly kind: 'update-status' }
  /** Enter a stage; an acknowledgement given before it is dropped. */
  | { readonly kind: 'enter-stage'; readonly stage: CaStage }
  | {
      readonly kind: 'apply-config';
      readonly machine: string;
      readonly stage: 'Accepting' | 'Issuing' | 'Dropping';
      /** What is changed; absent where every target of the rotation is. */
      readonly targets?: readonly CaTarget[];
    }
  /** Several workers at once, after the canary. */
  | {
      readonly kind: 'apply-configs';
      readonly machines: readonly string[];
      readonly stage: 'Accepting' | 'Issuing' | 'Dropping';
      readonly targets?: readonly CaTarget[];
    }
  /** Take the new certificate authorities back from a machine, one stage at a time; only while a rotation is abandoned. */
  | { readonly kind: 'revert-config'; readonly machine: string; readonly to: 'Accepting' | 'Before' }
  /** Ask the evacuation hook, once; the status has its answer. */
  | { readonly kind: 'evacuate'; readonly machine: string }
  | { readonly kind: 'readmit'; readonly machine: string }
  | { readonly kind: 'cordon'; readonly machine: string }
  | { readonly kind: 'drain'; readonly machine: string }
  | { readonly kind: 'forfeit-leadership'; readonly machine: string }
  | { readonly kind: 'reboot'; readonly machine: string }
  | { readonly kind: 'uncordon'; readonly machine: string }
  | { readonly kind: 'replace-bundle' }
  | { readonly kind: 'reset-authentication'; readonly uid: string }
  | { readonly kind: 'restart-workload'; readonly owner: string }
  /** Remove the record, settle the replaced bundle, release the finalizer. */
  | { readonly kind: 'complete' }
  /** Remove the record, unless it is another operation's, and the finalizer; the old certificate authorities stay. */
  | { readonly kind: 'abandon'; readonly uncordon: readonly string[]; readonly keepsRecord?: true };

/** Changes to the status; `undefined` removes a field. */
export type StatusPatch = { readonly [K in keyof CaRotationStatus]?: CaRotationStatus[K] | undefined };

/** What `decide` says. Status, events, metrics and the CLI all render this one value. */
export type Decision =
  | {
      readonly kind: 'act';
      readonly effect: Effect;
      readonly reason: Reason;
      readonly message: string;
      /** Written durably before the effect. */
      readonly mark?: StatusPatch;
      /** Written after the effect succeeded. */
      readonly after?: StatusPatch;
      readonly conditions?: readonly Omit<OperationCondition, 'lastTransitionTime'>[];
    }
  | {
      readonly kind: 'wait';
      readonly reason: Reason;
      readonly message: string;
      readonly recheckAfterMs: number;
      /**
       * The machines whose own readings it follows from and can be ended by, none where only a person or time ends it;
       * absent where it takes a whole look.
       */
      readonly watch?: readonly string[];
    }
  | { readonly kind: 'blocked'; readonly reason: Reason; readonly message: string; readonly recheckAfterMs: number }
  | { readonly kind: 'done'; readonly reason: 'Completed' | 'Abandoning'; readonly message: string };

/** Why a step may not be taken now. */
export interface Blocker {
  readonly reason: Reason;
  /** Names the machine, what was found and what was expected. */
  readonly message: string;
  /** The machines whose own readings it follows from; absent where it follows from more than those. */
  readonly machines?: readonly string[];
}

/** How soon to look again while something that we started is under way. */
export const RECHECK_MS = 1_500;

/**
 * How soon to look again while one machine that was told restarts its processes:
 * that takes seconds (`measured`), nine times in a rotation, and the next machine waits for it.
 */
export const PROVING_RECHECK_MS = 500;

/**
 * How soon to look again while only time has to pass: a look then notices what
 * undoes the wait, and costs every machine a dozen calls. Looks at one machine
 * alone are never the only ones for longer than that.
 */
export const SETTLE_RECHECK_MS = 5_000;

/** How soon to look again when a person has to do something. */
export const BLOCKED_RECHECK_MS = 30_000;

/** A wait for something that is expected to come by itself. */
export function waitFor({ reason, message, machines }: Blocker, recheckAfterMs: number = RECHECK_MS): Decision {
  return { kind: 'wait', reason, message, recheckAfterMs, ...(machines === undefined ? {} : { watch: machines }) };
}

/** A wait for a span of time to be over; looked at again at its end, and now and then before. */
export function waitOut(blocker: Blocker, leftMs: number): Decision {
  return waitFor(blocker, Math.min(SETTLE_RECHECK_MS, Math.max(1, leftMs)));
}

/** A stop that needs a person, or at least more time than anybody should watch. */
export function blockedBy(blocker: Blocker): Decision {
  return { kind: 'blocked', reason: blocker.reason, message: blocker.message, recheckAfterMs: BLOCKED_RECHECK_MS };
}
