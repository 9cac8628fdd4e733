import type { CaRotationStatus } from '../../api/v1alpha1/index.ts';
import { type Context, isKnown } from './context.ts';
import { type Decision, waitFor } from './decision.ts';
import { hold } from './hold.ts';

type InFlight = CaRotationStatus['inFlight'][number];

/** Longest time that a call which changes a machine may take, ms; its caller gives up then. */
export const CALL_DEADLINE_MS = 30_000;

/**
 * After a call whose reply was lost, nothing further is sent until it can no
 * longer take effect: its deadline and a margin are past and the machine has
 * answered a new call since, or it is in another boot. A boot-ID marker alone
 * does not protect quorum: a reboot that timed out can land after it was cleared.
 */
export function quiescence(context: Context): Decision | undefined {
  for (const call of context.status.inFlight) {
    const decision = settle(context, call);
    if (decision !== undefined) return decision;
  }
  return undefined;
}

function settle(context: Context, call: InFlight): Decision | undefined {
  const machine = context.observation.machines.find((each) => each.name === call.machine);
  const mayLand = mayStillLand(context, call);
  const known = machine !== undefined && isKnown(machine);
  const what = `the reply of ${call.machine} to ${call.call} was lost`;
  if (known && (!mayLand || machine.talos.value.bootId !== call.bootID)) {
    return forget(context, call, `${what}; it can no longer take effect`);
  }
  if (mayLand) return waitFor({ reason: 'NotQuiescent', message: what, machines: [call.machine] });
  if (machine === undefined && context.observation.machinesIncomplete === undefined) {
    return forget(context, call, `${what}; the machine is no longer part of the cluster`);
  }
  // A machine that is being rebooted is expected to be silent; its own step says how long.
  if (context.status.etcdRebooting === call.machine) return undefined;
  return hold(context, {
    reason: 'MachineUnknown',
    message: `${what}, and it has not answered since`,
    machines: [call.machine],
  });
}

/**
 * Whether nobody can say yet that the call has ended. Its deadline is a time of its maker's clock: where another
 * process made it, this one waits once more as long as a call may take.
 */
export function mayStillLand({ observation, settings }: Context, { deadline }: InFlight): boolean {
  const { now, watchedSince } = observation;
  const end = Math.max(Date.parse(deadline), watchedSince + CALL_DEADLINE_MS);
  return now - end < settings.quiescenceMarginMs;
}

function forget(context: Context, call: InFlight, message: string): Decision {
  return {
    kind: 'act',
    effect: { kind: 'update-status' },
    reason: 'NotQuiescent',
    message,
    mark: { inFlight: context.status.inFlight.filter((each) => each !== call) },
  };
}
