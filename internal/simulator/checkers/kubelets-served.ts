import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { isApiServerReady } from '../transitions.ts';
import { othersOf } from './others.ts';

/**
 * Pods of a Node that is lost are evicted five minutes later. That may not happen
 * either where the program stands still in the middle of a stage.
 */
const GRACE_MS = 240_000;

/** S2: no kubelet that runs is shut out for so long that its pods are evicted, while there is an API server. */
export function kubeletsServed(): Checker {
  /** When each machine was last down, set back, or without any API server that it could ask; virtual milliseconds. */
  const awayAt = new Map<SimMachine, number>();
  return {
    property: 'S2 client continuity',
    check(moment) {
      const { world } = moment;
      const now = world.clock.monotonic();
      const isAny = world.planes().some((plane) => isApiServerReady(world, plane));
      for (const machine of world.machines()) {
        const { name, node, isUp, isCutOff, kubelet } = machine;
        if (node === undefined) continue;
        const { setBack } = othersOf(moment);
        // Whoever comes with an old configuration shuts out, and is shut out, until a program of ours that runs tells it.
        const isShutOut =
          setBack.has(name) || setBack.has(kubelet.upstream?.name ?? '') || isSignedByThePast(moment, machine);
        if (!isAny || !isUp || isCutOff || isShutOut) awayAt.set(machine, now);
        if (!kubelet.isRunning) continue;
        const silentMs = now - Math.max(node.beatAt, awayAt.get(machine) ?? 0);
        if (silentMs > GRACE_MS)
          return `no API server has taken the kubelet of ${name} for ${Math.round(silentMs / 1_000)} s`;
      }
      return undefined;
    },
  };
}

/** A control plane that somebody set back signs for kubelets by the old CA, also for one that has dropped that. */
function isSignedByThePast({ scenario, world }: Moment, { kubelet }: SimMachine): boolean {
  const isAny = (scenario.happenings ?? []).some(
    (each) => (each.what === 'restore' || each.what === 'replace') && world.find(each.machine)?.role === 'controlplane',
  );
  return isAny && kubelet.clientIssuer !== undefined && !kubelet.trust.includes(kubelet.clientIssuer);
}
