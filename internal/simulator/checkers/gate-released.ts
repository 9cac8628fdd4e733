import type { Checker } from '../run.ts';

/** Twenty minutes until a machine is overdue, five more until a person is told, and a margin. */
const HELD_MS = 1_560_000;
/** Whoever is alive looks at least twice in that time; longer silence is that of a program that is dead or frozen. */
const SILENT_MS = 60_000;

/** L8: the marker of a reboot, or a cordon, is released or said to be stuck. Time in which no program of ours looks does not count. */
export function gateReleased(): Checker {
  let held: { readonly name: string; ms: number } | undefined;
  let seen = 0;
  return {
    property: 'L8 gate',
    check({ operation, faults: { looks } }) {
      const { etcdRebooting, etcdDraining } = operation?.status.caRotation ?? {};
      const name = etcdRebooting ?? etcdDraining;
      if (name !== held?.name) held = name === undefined ? undefined : { name, ms: 0 };
      for (; seen < looks.length; seen += 1) {
        const waitedMs = (looks[seen]?.at ?? 0) - (looks[seen - 1]?.at ?? 0);
        if (held !== undefined) held.ms += Math.min(waitedMs, SILENT_MS);
      }
      if (held === undefined || held.ms < HELD_MS || operation?.status.phase === 'Paused') return undefined;
      return `${held.name} has held the gate for ${Math.round(held.ms / 60_000)} minutes, and nobody is told`;
    },
  };
}
