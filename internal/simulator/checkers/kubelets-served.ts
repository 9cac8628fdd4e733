import { isServed } from '../kubernetes.ts';
import type { Checker } from '../run.ts';
import { isApiServerReady } from '../transitions.ts';

/** A Node is lost when its kubelet could not renew its Lease for so long. */
const GRACE_MS = 40_000;

/** S2: no kubelet is shut out by every API server that is ready for so long that its Node is lost. */
export function kubeletsServed(): Checker {
  const since = new Map<string, number>();
  return {
    property: 'S2 client continuity',
    check({ world }) {
      const now = world.clock.monotonic();
      const isAnyReady = world.planes().some((plane) => isApiServerReady(world, plane));
      for (const machine of world.machines()) {
        const isShutOut = machine.isUp && machine.kubelet.isRunning && isAnyReady && !isServed(world, machine);
        if (!isShutOut) since.delete(machine.name);
        else if (!since.has(machine.name)) since.set(machine.name, now);
        const from = since.get(machine.name);
        if (from !== undefined && now - from > GRACE_MS) {
          return `no API server has taken the kubelet of ${machine.name} for ${Math.round((now - from) / 1_000)} s`;
        }
      }
      return undefined;
    },
  };
}
