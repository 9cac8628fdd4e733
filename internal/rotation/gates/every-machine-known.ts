import type { Context } from '../context.ts';
import type { Blocker } from '../decision.ts';
import type { MachineObservation } from '../observation.ts';

/** A machine that does not answer is unknown: nothing is done, and nothing counts as done, while there is one. */
export function everyMachineKnown(context: Context): Blocker | undefined {
  const { machines, machinesIncomplete } = context.observation;
  for (const machine of machines) {
    const blocker = whyUnknown(machine);
    if (blocker !== undefined) return blocker;
  }
  if (machinesIncomplete === undefined && !machines.some((machine) => machine.role === 'controlplane')) {
    return { reason: 'MachineListIncomplete', message: 'no control plane was found' };
  }
  if (machinesIncomplete !== undefined) return { reason: 'MachineListIncomplete', message: machinesIncomplete };
  return undefined;
}

/** Why a machine could not be read, by what a person should do about it. */
export function whyUnknown({ name, address, talos }: MachineObservation): Blocker | undefined {
  if (talos.known) return undefined;
  const found = { message: `${name} (${address}): ${talos.message}`, machines: [name] };
  if (talos.why === 'untrusted') return { reason: 'MachineUntrusted', ...found };
  if (talos.why === 'maintenance') return { reason: 'MachineInMaintenance', ...found };
  return { reason: 'MachineUnknown', ...found };
}
