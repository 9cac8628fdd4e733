import { type Context, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** Before the start, no configuration has a fault for which it could not be changed later: by then others would be told already. */
export function configurationsFit(context: Context): Blocker | undefined {
  for (const machine of context.observation.machines) {
    if (!isKnown(machine) || machine.talos.value.unfit === undefined) continue;
    return {
      reason: 'ConfigurationRefused',
      message: `${machine.name}: its configuration cannot be changed as it is: ${machine.talos.value.unfit}`,
    };
  }
  return undefined;
}
