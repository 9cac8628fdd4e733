import type { Clock } from '../../pkg/clock/index.ts';
import { StoreError } from './error.ts';
import { type HeldLock, isHeldLock, type LockMeans, tryLock } from './lock.ts';

/** How long a writer waits for another one. A write takes milliseconds; a slow disk or a network file system may take seconds. */
const PATIENCE_MS = 15_000;
const RETRY_MS = 10;

/**
 * Lets one writer at a time into a store: of all processes, and of the calls of this one. Held for milliseconds, unlike
 * the lock of the cluster; a command that only pauses or annotates an operation needs no more than this one.
 */
export interface WriteLock {
  /**
   * Runs `work` alone. `takeOver` also takes the lock from a writer on another host that has not finished in all the time
   * that is waited. Errors: `locked`; whatever `work` throws.
   */
  run<T>(work: () => Promise<T>, options?: { readonly takeOver?: boolean }): Promise<T>;
}

/** The write lock that the folder stands for. */
export function createWriteLock(means: LockMeans & { readonly clock: Clock }, directory: string): WriteLock {
  let last: Promise<unknown> = Promise.resolve();
  /** A lock that could not be given back, because the file system failed: it is used again by the next call. */
  let kept: HeldLock | undefined;

  async function runAlone<T>(work: () => Promise<T>, takeOver: boolean): Promise<T> {
    const lock = kept !== undefined && (await kept.isHeld()) ? kept : await waitForLock(means, directory, takeOver);
    kept = lock;
    try {
      return await work();
    } finally {
      await lock.release().then(
        () => {
          kept = undefined;
        },
        () => undefined,
      );
    }
  }

  return {
    run(work, options = {}) {
      const result = last.then(() => runAlone(work, options.takeOver === true));
      last = result.catch(() => undefined);
      return result;
    },
  };
}

async function waitForLock(
  means: LockMeans & { readonly clock: Clock },
  directory: string,
  takeOver: boolean,
): Promise<HeldLock> {
  const { clock } = means;
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const isLate = clock.monotonic() >= deadline;
    const result = await tryLock(means, directory, { purpose: 'one write', takeOver: takeOver && isLate });
    if (isHeldLock(result)) return result;
    if (isLate) {
      const { pid, host, since } = result;
      throw new StoreError(
        'locked',
        directory,
        `process ${pid} on ${host} has been writing since ${since}. Nothing was changed`,
      );
    }
    await clock.sleep(RETRY_MS);
  }
}
