import { type Context, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** Before the start, every machine carries exactly what the bundle holds: nothing is generated for a cluster that the bundle does not fit. */
export function bundleIsThisClusters(context: Context): Blocker | undefined {
  for (const machine of context.observation.machines) {
    if (!isKnown(machine)) continue;
    for (const target of context.targets) {
      const standing = machine.talos.value.standing[target.name];
      if (standing.stage === 'Before' || standing.stage === 'NotConcerned') continue;
      const found = standing.stage === 'Foreign' ? standing.why : `it already stands at ${standing.stage}`;
      return {
        reason: 'BundleMismatch',
        message: `${machine.name}, ${target.name}: ${found}; expected what secrets.yaml holds`,
      };
    }
  }
  return undefined;
}
