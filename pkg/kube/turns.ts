/** Lets a limited number of calls go at once; the others wait in the order in which they came. */
export interface Turns {
  /** Resolves with the function that gives the turn back. Rejects with the signal's reason when it aborts first. */
  take(signal: AbortSignal): Promise<() => void>;
}

/** `count` turns. */
export function createTurns(count: number): Turns {
  let free = count;
  const waiting = new Set<() => void>();

  function giveBack(): void {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else next();
  }

  return {
    take(signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        if (free > 0) {
          free -= 1;
          resolve(giveBack);
          return;
        }
        const onAbort = (): void => {
          waiting.delete(go);
          reject(signal.reason);
        };
        const go = (): void => {
          waiting.delete(go);
          signal.removeEventListener('abort', onAbort);
          resolve(giveBack);
        };
        waiting.add(go);
        signal.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}
