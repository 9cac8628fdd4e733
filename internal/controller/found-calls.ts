import type { CaRotationStatus, TalosOperation } from '../../api/v1alpha1/index.ts';
import { APPLY_DEADLINE_MS } from './act-apply.ts';
import { REBOOT_DEADLINE_MS } from './act-roll.ts';

type InFlight = CaRotationStatus['inFlight'][number];

/** Calls in flight, as this process has to wait for them. */
export interface FoundCalls {
  /**
   * The operation, in which each call that this process has found and not made ends when it
   * certainly does: a call's full time after the first look at the operation.
   *
   * @param now the operation's time, milliseconds since the epoch
   */
  waitedFor(operation: TalosOperation, now: number): TalosOperation;
}

/** No caller waits longer for a call that changes a machine. */
const CALL_MS = Math.max(APPLY_DEADLINE_MS, REBOOT_DEADLINE_MS);

/**
 * The deadline of a call is a time of the clock of the process that made it. One that
 * goes on elsewhere, or after that clock was corrected, cannot compare it with its own:
 * a clock that is ahead would take for over what can still land, and a reboot that lands
 * when another machine is being rebooted costs quorum.
 */
export function createFoundCalls(): FoundCalls {
  const found = new Map<string, { readonly calls: ReadonlySet<string>; readonly until: string }>();
  return {
    waitedFor(operation, now) {
      const { uid } = operation.metadata;
      const { caRotation } = operation.status;
      const known = found.get(uid) ?? {
        calls: new Set(caRotation.inFlight.map(nameOf)),
        until: new Date(now + CALL_MS).toISOString(),
      };
      found.set(uid, known);
      if (!caRotation.inFlight.some((call) => known.calls.has(nameOf(call)))) return operation;
      const inFlight = caRotation.inFlight.map((call) =>
        known.calls.has(nameOf(call)) ? { ...call, deadline: known.until } : call,
      );
      return { ...operation, status: { ...operation.status, caRotation: { ...caRotation, inFlight } } };
    },
  };
}

function nameOf({ machine, call, deadline }: InFlight): string {
  return `${machine} ${call} ${deadline}`;
}
