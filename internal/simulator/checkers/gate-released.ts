import type { Checker } from '../run.ts';
import { watchWaits } from './waits.ts';

/** Twenty minutes until a machine is overdue, five more until a person is told, and a margin. */
const HELD_MS = 1_560_000;

/** L8: the marker of a reboot, or a cordon, is released or said to be stuck. Time in which no program of ours looks does not count. */
export function gateReleased(): Checker {
  let held: { readonly name: string; ms: number } | undefined;
  const waitsOf = watchWaits();
  return {
    property: 'L8 gate',
    check({ operation, faults: { looks } }) {
      const { etcdRebooting, etcdDraining } = operation?.status.caRotation ?? {};
      const name = etcdRebooting ?? etcdDraining;
      if (name !== held?.name) held = name === undefined ? undefined : { name, ms: 0 };
      for (const { waitedMs } of waitsOf(looks)) if (held !== undefined) held.ms += waitedMs;
      if (held === undefined || held.ms < HELD_MS || operation?.status.phase === 'Paused') return undefined;
      return `${held.name} has held the gate for ${Math.round(held.ms / 60_000)} minutes, and nobody is told`;
    },
  };
}
