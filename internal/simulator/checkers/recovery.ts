import type { Checker, Moment } from '../run.ts';

/** A call in flight may land for 40 s; kube-apiserver and a boot take what they take: the grace time is three minutes. */
const RECOVERY_MS = 240_000;

/** L3, L10: the next process goes on, or says what is in the way, within bounded time of its start. */
export function recovery(): Checker {
  return {
    property: 'L3 L10 recovery',
    end(moment) {
      const { looks } = moment.faults;
      const processes = [...new Set(looks.map((look) => look.process))];
      for (const process of processes.filter((name) => name !== 'p0' && name !== 'again')) {
        const mine = looks.filter((look) => look.process === process);
        const from = mine[0]?.at ?? 0;
        const until = mine.find((look) => look.kind !== 'wait')?.at ?? mine.at(-1)?.at ?? 0;
        const took = until - from - excusedMs(moment, from, until);
        if (took > (isUnheard(moment, from) ? RETRY_MS : RECOVERY_MS))
          return `${process} did and said nothing for ${took / 1_000} s`;
      }
      return undefined;
    },
  };
}

/** A reboot that was not heard, or whose process died between marker and call, is asked for again after five minutes, and not before. */
const RETRY_MS = 340_000;

function isUnheard({ faults }: Moment, from: number): boolean {
  return faults.log.reboots.some(
    ({ askedAt, begunAt = Number.POSITIVE_INFINITY }) => askedAt <= from + RETRY_MS && begunAt > from,
  );
}

/** A frozen process is frozen for ten minutes. */
const FROZEN_MS = 600_000;
/** From the end of a disturbance until the machine is well again. */
const AFTERMATH_MS = 60_000;

/** How much of that time it was frozen, paused by a person, or waited for what somebody else had disturbed. */
function excusedMs({ scenario, world, faults }: Moment, from: number, until: number): number {
  const frozen = faults.fired.filter(({ at, outcome }) => {
    const began = world.lines.find(({ what }) => what.startsWith(`call ${at} `))?.at ?? 0;
    return outcome === 'pause' && began >= from && began <= until;
  });
  const disturbed = (scenario.happenings ?? []).map((each) => {
    const ends = each.at + ('forMs' in each ? (each.forMs ?? 0) : 0) + AFTERMATH_MS;
    return Math.max(0, Math.min(ends, until) - Math.max(each.at, from));
  });
  return frozen.length * FROZEN_MS + disturbed.reduce((total, each) => total + each, 0);
}
