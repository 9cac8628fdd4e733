import { anyTarget, type Context, controlPlanes, isKnown } from './context.ts';
import { type Decision, waitFor } from './decision.ts';
import { sinceLastChange } from './hold.ts';
import type { MachineObservation } from './observation.ts';
import { rollOf, startedTooEarly } from './roll.ts';

/** How long a probe that cannot connect is repeated before the reboots are done instead. */
const PROBE_PATIENCE_MS = 30_000;

/**
 * The roll after Issuing is needed only where a machine does not already serve a
 * leaf of the new CA on 2379 and 2380: a running etcd picks up a new leaf at the
 * next handshake (`measured`). Where a probe proves that a machine does, its
 * reboot is skipped; where it cannot be proved, it is done.
 */
export function rollUnlessServed(context: Context): Decision | undefined {
  if (!anyTarget(context, (target) => target.rolled)) return undefined;
  const machines = controlPlanes(context);
  const first = machines.find((machine) => !servesNewLeaf(context, machine));
  if (
    first !== undefined &&
    sinceLastChange(context) < PROBE_PATIENCE_MS &&
    context.status.etcdDraining === undefined
  ) {
    return waitFor({
      reason: 'ProvingMachine',
      message: `${first.name}: etcd is not seen to serve a certificate of the new CA on 2379 and 2380 yet`,
      machines: [first.name],
    });
  }
  return rollOf(
    context,
    machines.filter((machine) => !servesNewLeaf(context, machine) || trustsTooLittle(context, machine)),
  );
}

/** The new leaf is no proof of what its etcd trusts, where the machine came back two stages behind. */
function trustsTooLittle(context: Context, machine: MachineObservation): boolean {
  return isKnown(machine) && startedTooEarly(context, machine);
}

function servesNewLeaf(context: Context, machine: MachineObservation): boolean {
  const served = machine.etcdServed;
  if (served?.known !== true) return false;
  return context.targets
    .filter((target) => target.rolled)
    .every((target) => {
      const expected = context.material[target.name]?.new.fingerprint;
      return served.value.client === expected && served.value.peer === expected;
    });
}
