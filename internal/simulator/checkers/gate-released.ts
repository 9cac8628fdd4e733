import type { Checker } from '../run.ts';

/** Twenty minutes until a machine is overdue, five more until a person is told, and a margin. */
const HELD_MS = 1_560_000;

/** L8: the marker of a reboot, or a cordon, is released or said to be stuck. */
export function gateReleased(): Checker {
  let since: { readonly name: string; readonly at: number } | undefined;
  return {
    property: 'L8 gate',
    check({ world, operation }) {
      const { etcdRebooting, etcdDraining } = operation?.status.caRotation ?? {};
      const name = etcdRebooting ?? etcdDraining;
      const now = world.clock.monotonic();
      if (name === undefined || name !== since?.name) since = name === undefined ? undefined : { name, at: now };
      if (since === undefined || now - since.at < HELD_MS || operation?.status.phase === 'Paused') return undefined;
      return `${since.name} has held the gate for ${Math.round((now - since.at) / 60_000)} minutes, and nobody is told`;
    },
  };
}
