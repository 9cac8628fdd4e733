import { setTimeout as sleep } from 'node:timers/promises';
import { duration } from '../support/clock-lines.ts';

/**
 * Asks until the answer is something other than undefined or false. A question
 * that throws counts as unanswered; the last error is in the one that ends it.
 */
export async function waitFor<T>(
  what: string,
  timeoutMs: number,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  everyMs = 250,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) {
      const why = last instanceof Error ? `; last: ${last.message}` : '';
      throw new Error(`gave up waiting for ${what} after ${duration(timeoutMs)}${why}`, { cause: last });
    }
    await sleep(everyMs);
  }
}
