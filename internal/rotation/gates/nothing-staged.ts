import { type Context, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';

/**
 * Before the start, every machine runs the configuration that it keeps for its next boot. What somebody staged, or
 * tries, is their only copy, so such a machine is told nothing: by then others would be told already.
 */
export function nothingStaged(context: Context): Blocker | undefined {
  for (const machine of context.observation.machines) {
    if (!isKnown(machine)) continue;
    const { keptDigest, configDigest } = machine.talos.value;
    if (keptDigest === undefined || keptDigest === configDigest) continue;
    return {
      reason: 'ForeignConfiguration',
      message: `${machine.name} keeps another configuration for its next boot than the one that it runs: somebody staged one, or tries one; expected the same`,
    };
  }
  return undefined;
}
