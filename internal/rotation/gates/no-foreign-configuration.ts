import { type Context, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** Nobody else changed what we are rotating: a foreign edit is shown, never overwritten. */
export function noForeignConfiguration(context: Context): Blocker | undefined {
  for (const machine of context.observation.machines) {
    if (!isKnown(machine)) continue;
    for (const { name } of context.targets) {
      const standing = machine.talos.value.standing[name];
      if (standing.stage === 'Foreign') {
        return { reason: 'ForeignConfiguration', message: `${machine.name}, ${name}: ${standing.why}` };
      }
    }
  }
  return undefined;
}
