import type { Checker } from '../run.ts';

const MINUTE_MS = 60_000;
/** A look after each of the effects of a minute, one every 1.5 s between them, and one again for each conflict. */
const LOOKS_A_MINUTE = 120;

/** L4: however often calls fail or writes conflict, looks and calls stay within a bound. */
export function noStorm(): Checker {
  let from = 0;
  return {
    property: 'L4 no storm',
    check({ world, faults }) {
      const now = world.clock.monotonic();
      const { looks } = faults;
      while (from < looks.length && (looks[from]?.at ?? 0) < now - MINUTE_MS) from += 1;
      const recent = looks.length - from;
      return recent > LOOKS_A_MINUTE + 10 * faults.fired.length ? `${recent} looks in a minute` : undefined;
    },
  };
}
