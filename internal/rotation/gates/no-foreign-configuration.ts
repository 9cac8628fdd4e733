import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import { type Context, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** Nobody else changed what we are rotating: a foreign edit is shown, never overwritten. */
export function noForeignConfiguration(context: Context): Blocker | undefined {
  const targets = context.targets.length > 0 ? context.targets.map((target) => target.name) : CA_TARGETS;
  for (const machine of context.observation.machines) {
    if (!isKnown(machine)) continue;
    for (const target of targets) {
      const standing = machine.talos.value.standing[target];
      if (standing.stage === 'Foreign') {
        return { reason: 'ForeignConfiguration', message: `${machine.name}, ${target}: ${standing.why}` };
      }
    }
  }
  return undefined;
}
