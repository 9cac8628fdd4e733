import type { Checker } from '../run.ts';

/** The longest wait that is silent by design: twenty minutes for a machine to come back, and the time around it. */
const SILENT_MS = 1_380_000;
/** Whoever is alive looks at least twice in that time; longer silence is that of a program that is dead or frozen. */
const AWAY_MS = 60_000;

/** L5: whoever waits for long says so: blocked, with the reason and what was expected. */
export function loud(): Checker {
  let waitedMs = 0;
  let seen = 0;
  return {
    property: 'L5 loud',
    check({ faults: { looks }, operation }) {
      for (; seen < looks.length; seen += 1) {
        const look = looks[seen];
        const sinceLastMs = (look?.at ?? 0) - (looks[seen - 1]?.at ?? 0);
        waitedMs = look?.kind === 'act' || look?.kind === 'done' ? 0 : waitedMs + Math.min(sinceLastMs, AWAY_MS);
      }
      if (operation === undefined || waitedMs < SILENT_MS || operation.spec.paused) return undefined;
      const { phase, message } = operation.status;
      if (phase !== 'Paused')
        return `nothing was done for ${SILENT_MS / 60_000} minutes, and the operation says ${phase}`;
      return message.length > 10 ? undefined : 'the operation is blocked and does not say by what';
    },
  };
}
