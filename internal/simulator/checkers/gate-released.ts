import type { Checker } from '../run.ts';

/** Twenty minutes until a machine is overdue, five more until a person is told, and a margin. */
const HELD_MS = 1_560_000;

/** L8: the marker of a reboot, or a cordon, is released or said to be stuck. Time in which no program of ours looks does not count. */
export function gateReleased(): Checker {
  let since: { readonly name: string; readonly at: number } | undefined;
  return {
    property: 'L8 gate',
    check({ world, operation, faults }) {
      const { etcdRebooting, etcdDraining } = operation?.status.caRotation ?? {};
      const name = etcdRebooting ?? etcdDraining;
      const now = world.clock.monotonic();
      if (name === undefined || name !== since?.name) since = name === undefined ? undefined : { name, at: now };
      const last = faults.looks.at(-1);
      if (since === undefined || last === undefined || operation?.status.phase === 'Paused') return undefined;
      const alive = faults.looks.find(({ process }) => process === last.process)?.at ?? last.at;
      const heldMs = last.at - Math.max(since.at, alive);
      if (heldMs < HELD_MS) return undefined;
      return `${since.name} has held the gate for ${Math.round(heldMs / 60_000)} minutes, and nobody is told`;
    },
  };
}
