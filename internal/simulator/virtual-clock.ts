import type { Clock } from '../../pkg/clock/index.ts';

/** Time of a simulated world: it passes only when nobody has anything left to do, from one event to the next. */
export interface VirtualClock extends Clock {
  /** Does something after `delayMs`; returns what calls it off. Events of one moment happen in the order in which they were asked for. */
  schedule(delayMs: number, act: () => void): () => void;
  /** Moves the wall clock alone, as a time server does. */
  jump(ms: number): void;
  /** Keeps time from passing until a computation of the host itself (a signature in a thread) is over. */
  hold<T>(work: Promise<T>): Promise<T>;
  /** Lets events happen until the promise is settled. Throws where nothing is left that could settle it. */
  run<T>(promise: Promise<T>): Promise<T>;
  /** Called after every event. */
  onEvent: (() => void) | undefined;
}

interface Due {
  readonly at: number;
  readonly order: number;
  readonly act: () => void;
  /** Whether somebody waits for it, who must get on before the next event. */
  readonly wakes: boolean;
}

/** A clock that starts at `start`, in milliseconds since the epoch. */
export function createVirtualClock(start: number): VirtualClock {
  const queue: Due[] = [];
  let elapsed = 0;
  let offset = start;
  let orders = 0;
  let held = 0;

  function add(delayMs: number, act: () => void, wakes: boolean): () => void {
    orders += 1;
    const due: Due = { at: elapsed + Math.max(0, delayMs), order: orders, act, wakes };
    let index = queue.length;
    while (index > 0 && (queue[index - 1]?.at ?? 0) > due.at) index -= 1;
    queue.splice(index, 0, due);
    return () => {
      const found = queue.indexOf(due);
      if (found >= 0) queue.splice(found, 1);
    };
  }

  async function settle(): Promise<void> {
    do await turn();
    while (held > 0);
  }

  const clock: VirtualClock = {
    onEvent: undefined,
    now: () => offset + elapsed,
    monotonic: () => elapsed,
    schedule: (delayMs, act) => add(delayMs, act, false),
    jump(ms) {
      offset += ms;
    },
    sleep: (ms, signal) => sleepOn(signal, (wake) => add(ms, wake, true)),
    async hold(work) {
      held += 1;
      try {
        return await work;
      } finally {
        held -= 1;
      }
    },
    async run(promise) {
      let isSettled = false;
      const note = (): void => {
        isSettled = true;
      };
      promise.then(note, note);
      await settle();
      while (!isSettled) {
        const due = queue.shift();
        if (due === undefined) throw new Error('the simulated world stands still: nothing is left to happen');
        elapsed = due.at;
        due.act();
        clock.onEvent?.();
        if (due.wakes) await settle();
      }
      return await promise;
    },
  };
  return clock;
}

/**
 * A sleep as {@link Clock} promises it, on a queue of events: `arm` puts the waking
 * into the queue and returns what takes it out. `forsake` ends a sleep that nothing
 * will wake any more.
 */
export function sleepOn(
  signal: AbortSignal | undefined,
  arm: (wake: () => void, forsake: (reason: Error) => void) => () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = arm(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, reject);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Everything that only waits for promises that are settled already runs before the next turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
