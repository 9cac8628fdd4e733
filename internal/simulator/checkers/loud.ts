import type { Checker } from '../run.ts';
import { watchWaits } from './waits.ts';

/** The longest wait that is silent by design: twenty minutes for a machine to come back, and the time around it. */
const SILENT_MS = 1_380_000;

/** L5: whoever waits for long says so: blocked, with the reason and what was expected. */
export function loud(): Checker {
  let silentMs = 0;
  const waitsOf = watchWaits();
  return {
    property: 'L5 loud',
    check({ faults: { looks }, operation }) {
      for (const { look, waitedMs } of waitsOf(looks)) {
        silentMs = look.kind === 'act' || look.kind === 'done' ? 0 : silentMs + waitedMs;
      }
      if (operation === undefined || silentMs < SILENT_MS || operation.spec.paused) return undefined;
      const { phase, message } = operation.status;
      if (phase !== 'Paused')
        return `nothing was done for ${SILENT_MS / 60_000} minutes, and the operation says ${phase}`;
      return message.length > 10 ? undefined : 'the operation is blocked and does not say by what';
    },
  };
}
