import type { Look } from '../faults.ts';

/** Whoever is alive looks at least twice in that time; longer silence is that of a program that is dead or frozen. */
const AWAY_MS = 60_000;

/** One look, and how long a program that was awake had waited for it, virtual milliseconds. */
export interface Wait {
  readonly look: Look;
  readonly waitedMs: number;
}

/** Gives the looks since it was last asked. Time in which no program of ours looks does not count. */
export function watchWaits(): (looks: readonly Look[]) => readonly Wait[] {
  let seen = 0;
  return (looks) => {
    const from = seen;
    seen = looks.length;
    return looks.slice(from).map((look, index) => ({
      look,
      waitedMs: Math.min(look.at - (looks[from + index - 1]?.at ?? 0), AWAY_MS),
    }));
  };
}
