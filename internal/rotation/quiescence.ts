import { type Context, elapsedSince, isKnown } from './context.ts';
import { type Decision, waitFor } from './decision.ts';
import { hold } from './hold.ts';

/**
 * After a call whose reply was lost, nothing further is sent until it can no
 * longer take effect: its deadline and a margin are past and the machine has
 * answered a new call since, or it is in another boot. A boot-ID marker alone
 * does not protect quorum: a reboot that timed out can land after it was cleared.
 */
export function quiescence(context: Context): Decision | undefined {
  const { inFlight } = context.status;
  if (inFlight === undefined) return undefined;
  const machine = context.observation.machines.find((each) => each.name === inFlight.machine);
  const settled = elapsedSince(context, inFlight.deadline) >= context.settings.quiescenceMarginMs;
  const known = machine !== undefined && isKnown(machine);
  const what = `the reply of ${inFlight.machine} to ${inFlight.call} was lost`;
  if (known && (settled || machine.talos.value.bootId !== inFlight.bootID)) {
    return {
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'NotQuiescent',
      message: `${what}; it can no longer take effect`,
      mark: { inFlight: undefined },
    };
  }
  // A machine that is being rebooted is expected to be silent; its own step says how long.
  if (settled && context.status.etcdRebooting === inFlight.machine) return undefined;
  if (!settled) return waitFor({ reason: 'NotQuiescent', message: what });
  return hold(context, { reason: 'MachineUnknown', message: `${what}, and it has not answered since` });
}
