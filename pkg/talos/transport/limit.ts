import { TransportFailure } from './failure.ts';

/** The end of a call: whichever comes first of its deadline, its caller's signal and the end of the client. */
export interface Limit {
  readonly signal: AbortSignal;
  /** Time left, in ms. */
  remainingMs(): number;
  /** Must be called when the call is over: frees the timer and the listeners. */
  release(): void;
}

/**
 * Starts the clock of one call. The reason of the resulting signal is a
 * {@link TransportFailure} `timeout` or `cancelled` whose outcome is `unknown`;
 * the caller knows better while nothing was sent.
 */
export function startLimit(deadlineMs: number, signals: readonly (AbortSignal | undefined)[]): Limit {
  const controller = new AbortController();
  const started = performance.now();
  const timer = setTimeout(
    () => controller.abort(new TransportFailure('timeout', 'unknown', `no answer within ${deadlineMs} ms`)),
    deadlineMs,
  );
  const cancel = () => controller.abort(new TransportFailure('cancelled', 'unknown', 'cancelled by the caller'));
  for (const signal of signals) {
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
  }
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(1, deadlineMs - (performance.now() - started)),
    release() {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener('abort', cancel);
    },
  };
}
