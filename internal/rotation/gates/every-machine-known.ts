import type { Context } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** A machine that does not answer is unknown: nothing is done, and nothing counts as done, while there is one. */
export function everyMachineKnown(context: Context): Blocker | undefined {
  const { machines, machinesIncomplete } = context.observation;
  for (const machine of machines) {
    const { talos } = machine;
    if (talos.known) continue;
    const message = `${machine.name} (${machine.address}): ${talos.message}`;
    if (talos.why === 'untrusted') return { reason: 'MachineUntrusted', message };
    if (talos.why === 'maintenance') return { reason: 'MachineInMaintenance', message };
    return { reason: 'MachineUnknown', message };
  }
  if (machinesIncomplete !== undefined) return { reason: 'MachineListIncomplete', message: machinesIncomplete };
  return undefined;
}
