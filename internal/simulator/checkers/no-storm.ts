import type { Checker } from '../run.ts';

const MINUTE_MS = 60_000;
/** A look after each of the effects of a minute, at most two a second between them, and one again for each conflict or crash. */
const LOOKS_A_MINUTE = 140;

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
      // What is refused is asked again later each time.
      const again = faults.fired.filter(({ outcome }) => outcome !== 'refused').length;
      return recent > LOOKS_A_MINUTE + 4 * again ? `${recent} looks in a minute` : undefined;
    },
  };
}
