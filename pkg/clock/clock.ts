/**
 * Where time comes from. Every part that waits or compares times takes a Clock
 * as a parameter, so that tests and the simulated world decide what time it is.
 */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. May jump, in both directions. */
  now(): number;
  /** Milliseconds since an arbitrary start. Never goes back: use it for durations and deadlines. */
  monotonic(): number;
  /**
   * Resolves after `ms` milliseconds of monotonic time; zero and less resolve in a later turn.
   * Rejects with `signal.reason` as soon as the signal aborts, and leaves no timer behind.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay that a Node timer takes; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine that we run on. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    async sleep(ms, signal) {
      let leftMs = ms;
      do {
        const partMs = Math.min(leftMs, LONGEST_TIMER_MS);
        await pause(partMs, signal);
        leftMs -= partMs;
      } while (leftMs > 0);
    },
  };
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
