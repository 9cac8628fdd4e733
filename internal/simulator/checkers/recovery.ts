import type { Checker, Moment } from '../run.ts';
import { isFrozen } from './material.ts';

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
        const [first] = mine;
        const forward = mine.find((look) => look.kind !== 'wait');
        const until = forward?.at ?? mine.at(-1)?.at ?? 0;
        const took = until - (first?.at ?? 0);
        if (took > RECOVERY_MS && !isAway(moment)) return `${process} did and said nothing for ${took / 1_000} s`;
      }
      return undefined;
    },
  };
}

/** Somebody paused it or keeps machines away, or the process was frozen. */
function isAway(moment: Moment): boolean {
  return (moment.scenario.happenings ?? []).length > 0 || isFrozen(moment);
}
