import type { Checker, Moment } from '../run.ts';
import { isApiServerReady } from '../transitions.ts';

/**
 * Pods of a Node that is lost are evicted five minutes later. That may not happen
 * either where the program stands still in the middle of a stage.
 */
const GRACE_MS = 240_000;

/** S2: no kubelet that runs is shut out for so long that its pods are evicted, while there is an API server. */
export function kubeletsServed(): Checker {
  return {
    property: 'S2 client continuity',
    check(moment) {
      const { world } = moment;
      if (!world.planes().some((plane) => isApiServerReady(world, plane))) return undefined;
      for (const { name, node, isUp, isCutOff, kubelet } of world.machines()) {
        if (node === undefined || !isUp || isCutOff || !kubelet.isRunning) continue;
        // Whoever comes with an old configuration is shut out by that, until a program of ours that runs tells it.
        if (isReplaced(moment, name)) continue;
        const silent = world.clock.monotonic() - node.beatAt;
        if (silent > GRACE_MS)
          return `no API server has taken the kubelet of ${name} for ${Math.round(silent / 1_000)} s`;
      }
      return undefined;
    },
  };
}

function isReplaced({ scenario }: Moment, name: string): boolean {
  return (scenario.happenings ?? []).some((each) => each.what === 'replace' && each.machine === name);
}
