import type { Clock } from '../../../pkg/clock/index.ts';
import { isKubeError, isTransientForHandoff } from '../../../pkg/kube/index.ts';
import { isTalosError } from '../../../pkg/talos/index.ts';

/** How long a call of the hand-off is repeated: an API server that restarts is back long before. */
const WINDOW_MS = 600_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/** What waiting needs. */
export interface RetryOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Called before the first pause of this call; the caller says it to people once. */
  readonly onWaiting: (error: Error) => void;
}

/**
 * Makes a call of the hand-off until it succeeds: what can pass by itself is
 * tried again for ten minutes, after pauses that grow from 1 s to 15 s, or as
 * long as the API server asks for in Retry-After where that is longer. A final
 * answer (a certificate that does not authenticate, Forbidden, NotFound, a
 * webhook that said no) is thrown at once, and the last error when time is up.
 */
export async function retryHandoff<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, signal } = options;
  const until = clock.monotonic() + WINDOW_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await call();
    } catch (error) {
      const wait = Math.max(pause, isKubeError(error) ? (error.retryAfterMs ?? 0) : 0);
      if (!isTransient(error) || clock.monotonic() + wait > until) throw error;
      options.onWaiting(error as Error);
      await clock.sleep(wait, signal);
    }
  }
}

/** The hand-off also asks machines; one that is rebooting is no final answer either. */
function isTransient(error: unknown): boolean {
  return isTransientForHandoff(error) || isTalosError(error, 'unreachable', 'timeout', 'interrupted');
}
