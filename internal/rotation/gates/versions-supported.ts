import { type Context, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** Every machine runs a Talos that can rotate every target. */
export function versionsSupported(context: Context): Blocker | undefined {
  for (const machine of context.observation.machines) {
    if (!isKnown(machine)) continue;
    const [major, minor] = parseVersion(machine.talos.value.version);
    for (const target of context.targets) {
      const [wantedMajor, wantedMinor] = target.minimumTalos;
      const enough = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
      if (target.concerns === 'controlplane' && machine.role === 'worker') continue;
      if (!enough) {
        return {
          reason: target.tooOld,
          message: `${machine.name} runs Talos ${machine.talos.value.version}; the ${target.title} needs ${wantedMajor}.${wantedMinor} or later`,
        };
      }
    }
  }
  return undefined;
}

function parseVersion(version: string): [number, number] {
  const match = /^v?(\d+)\.(\d+)/.exec(version);
  return match === null ? [0, 0] : [Number(match[1]), Number(match[2])];
}
