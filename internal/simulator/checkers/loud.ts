import type { Checker } from '../run.ts';

/** The longest wait that is silent by design: twenty minutes for a machine to come back, and the time around it. */
const SILENT_MS = 1_380_000;

/** L5: whoever waits for long says so: blocked, with the reason and what was expected. */
export function loud(): Checker {
  return {
    property: 'L5 loud',
    check({ world, faults, operation }) {
      const last = faults.looks.at(-1);
      if (operation === undefined || last === undefined || last.kind === 'act' || last.kind === 'done')
        return undefined;
      const acted = faults.looks.findLast((look) => look.kind === 'act')?.at ?? 0;
      if (world.clock.monotonic() - acted < SILENT_MS || operation.spec.paused) return undefined;
      const { phase, message } = operation.status;
      if (phase !== 'Paused')
        return `nothing was done for ${SILENT_MS / 60_000} minutes, and the operation says ${phase}`;
      return message.length > 10 ? undefined : 'the operation is blocked and does not say by what';
    },
  };
}
