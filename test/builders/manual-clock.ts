import type { Clock } from '../../pkg/clock/index.ts';

/** A clock that moves only when the test says so. */
export interface ManualClock extends Clock {
  /** Moves both times forward and wakes, in the order of their due times, every sleeper that is due by then. */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone, as a time server does; monotonic time and sleepers do not notice. */
  jump(ms: number): void;
  /** How many sleeps have not ended yet. */
  sleepers(): number;
  /** Resolves as soon as `count` sleeps are open, so that a test need not guess when the code under test waits. */
  whenSleeping(count?: number): Promise<void>;
}

/**
 * Lets time pass only while the code under test sleeps, `stepMs` at a time, until its promise is settled. What it does in
 * real time in between (a call over a real socket) never runs into a deadline of the manual clock.
 */
export async function passTime<T>(clock: ManualClock, promise: Promise<T>, stepMs = 1_000): Promise<T> {
  let settled = false;
  const noted = promise.finally(() => {
    settled = true;
  });
  for (;;) {
    await Promise.race([noted, clock.whenSleeping()]);
    if (settled) return await noted;
    await clock.advance(stepMs);
  }
}

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** A manual clock that starts at `now` (ms epoch; by default 2026-11-05T12:00:00Z) and at monotonic time 0. */
export function createManualClock(now: number = Date.UTC(2026, 10, 5, 12)): ManualClock {
  let wallMs = now;
  let elapsedMs = 0;
  const sleeping = new Set<Sleeper>();
  const watching = new Set<() => void>();

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        sleeping.delete(sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        dueMs: elapsedMs + Math.max(ms, 0),
        wake: () => {
          sleeping.delete(sleeper);
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      sleeping.add(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
      for (const check of [...watching]) check();
    });
  }

  async function advance(ms: number): Promise<void> {
    const untilMs = elapsedMs + ms;
    await settle();
    for (let next = earliest(sleeping, untilMs); next !== undefined; next = earliest(sleeping, untilMs)) {
      wallMs += Math.max(next.dueMs - elapsedMs, 0);
      elapsedMs = Math.max(next.dueMs, elapsedMs);
      next.wake();
      await settle();
    }
    wallMs += untilMs - elapsedMs;
    elapsedMs = untilMs;
  }

  function whenSleeping(count = 1): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (sleeping.size < count) return;
        watching.delete(check);
        resolve();
      };
      watching.add(check);
      check();
    });
  }

  return {
    now: () => wallMs,
    monotonic: () => elapsedMs,
    sleep,
    advance,
    jump: (ms) => {
      wallMs += ms;
    },
    sleepers: () => sleeping.size,
    whenSleeping,
  };
}

function earliest(sleeping: ReadonlySet<Sleeper>, untilMs: number): Sleeper | undefined {
  let first: Sleeper | undefined;
  for (const sleeper of sleeping) {
    if (sleeper.dueMs <= untilMs && (first === undefined || sleeper.dueMs < first.dueMs)) first = sleeper;
  }
  return first;
}

/** Lets everything that waits on an already resolved promise run before time goes on. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
