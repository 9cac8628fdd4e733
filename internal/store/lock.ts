import { join } from 'node:path';
import { z } from 'zod';
import { fromFileSystem, StoreError } from './error.ts';
import type { StoreFileSystem } from './file-system.ts';
import type { Processes } from './process-identity.ts';

/** Who holds a lock: what the file of the lock says. */
export const LockOwner = z.strictObject({
  host: z.string(),
  pid: z.int(),
  bootId: z.string(),
  pidNamespace: z.string(),
  startedAt: z.string(),
  /** What the lock is held for, for the people who wait. */
  purpose: z.string(),
  /** When it was taken, ISO 8601. */
  since: z.string(),
});

/** See the schema of the same name. */
export type LockOwner = z.infer<typeof LockOwner>;

/** A lock that this process holds. */
export interface HeldLock {
  /** Grows with every owner: the fencing token. */
  readonly generation: number;
  /** The dead owner whose lock was taken over, where there was one. */
  readonly takenFrom: LockOwner | undefined;
  /** Whether the lock is still ours; asked before every write that needs it. */
  isHeld(): Promise<boolean>;
  /** Idempotent. */
  release(): Promise<void>;
}

/** What taking a lock needs. */
export interface LockMeans {
  readonly files: StoreFileSystem;
  readonly processes: Processes;
  readonly uniqueName: () => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const FREE = '{}';

/**
 * Takes the lock that a folder stands for, or says who holds it. The folder holds files named by growing numbers, and the
 * highest one is the state of the lock: an owner, or free. A state is never changed, only superseded by the next number,
 * which link(2) lets one process alone make. So two processes that both find a dead owner cannot both take its lock, and
 * a process that was overtaken sees a higher number than its own. An owner is taken over only when it is certainly dead,
 * or, where that cannot be seen (it is on another host, or the system does not say when a process began), when `takeOver`
 * says so; one that is alive never.
 */
export async function tryLock(
  means: LockMeans,
  directory: string,
  options: { readonly purpose: string; readonly takeOver?: boolean },
): Promise<HeldLock | LockOwner> {
  const { files, processes, now } = means;
  try {
    await files.makeDirectory(directory);
    for (;;) {
      const last = await highest(files, directory);
      const owner = await readOwner(files, directory, last);
      const liveness = owner === undefined ? 'dead' : processes.liveness(owner);
      if (owner !== undefined && (liveness === 'alive' || (liveness === 'unknown' && options.takeOver !== true)))
        return owner;
      const mine: LockOwner = { ...processes.self(), purpose: options.purpose, since: new Date(now()).toISOString() };
      const state = await prepareState(means, directory, JSON.stringify(mine));
      if (await supersede(means, directory, { next: last + 1, state })) {
        return heldLock(means, directory, { generation: last + 1, takenFrom: owner });
      }
    }
  } catch (cause) {
    throw fromFileSystem(cause, directory, { doing: 'take the lock', outcome: 'not-done' });
  }
}

/** Whether `tryLock` got the lock. */
export function isHeldLock(result: HeldLock | LockOwner): result is HeldLock {
  return 'generation' in result;
}

/** Who holds the lock now; nothing when it is free. Reads only. */
export async function lockOwner(files: StoreFileSystem, directory: string): Promise<LockOwner | undefined> {
  return readOwner(files, directory, await highest(files, directory));
}

async function heldLock(
  means: LockMeans,
  directory: string,
  held: Pick<HeldLock, 'generation' | 'takenFrom'>,
): Promise<HeldLock> {
  const { files } = means;
  const next = held.generation + 1;
  const isHeld = async () => (await highest(files, directory)) === held.generation;
  // Made while there is room: giving the lock back must work on a full disk, and a second name needs none.
  let prepared: string | undefined = await prepareState(means, directory, FREE).catch(() => undefined);
  return {
    ...held,
    isHeld,
    async release() {
      try {
        while (await isHeld()) {
          const state = prepared ?? (await prepareState(means, directory, FREE));
          prepared = undefined;
          await supersede(means, directory, { next, state });
        }
      } catch (cause) {
        throw fromFileSystem(cause, directory, { doing: 'give the lock back', outcome: 'not-done' });
      }
      if (prepared !== undefined) await files.remove(prepared).catch(() => undefined);
      prepared = undefined;
    },
  };
}

async function prepareState({ files, uniqueName }: LockMeans, directory: string, state: string): Promise<string> {
  const path = join(directory, `.state.${uniqueName()}.tmp`);
  await files.create(path, Buffer.from(state));
  return path;
}

/** Makes a prepared state the next one. False when another process was faster, or cleared the prepared file. */
async function supersede(
  { files }: LockMeans,
  directory: string,
  { next, state }: { next: number; state: string },
): Promise<boolean> {
  const path = join(directory, String(next));
  try {
    await files.link(state, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOENT') return false;
    throw error;
  } finally {
    await files.remove(state).catch(() => undefined);
  }
  // Lower numbers are removed, so a very late link may still succeed: it counts only with nothing above it.
  if ((await highest(files, directory)) !== next) {
    await files.remove(path);
    return false;
  }
  for (const number of await numbers(files, directory)) {
    // What cannot be removed is below the highest, and so without meaning.
    if (number < next) await files.remove(join(directory, String(number))).catch(() => undefined);
  }
  return true;
}

async function numbers(files: StoreFileSystem, directory: string): Promise<number[]> {
  return (await files.list(directory)).filter((name) => /^[1-9][0-9]{0,14}$/.test(name)).map(Number);
}

async function highest(files: StoreFileSystem, directory: string): Promise<number> {
  return Math.max(0, ...(await numbers(files, directory)));
}

async function readOwner(files: StoreFileSystem, directory: string, number: number): Promise<LockOwner | undefined> {
  if (number === 0) return undefined;
  const path = join(directory, String(number));
  const bytes = await files.read(path);
  // Gone: superseded this moment. Whoever asks will find a higher number.
  if (bytes === undefined) return undefined;
  const text = Buffer.from(bytes).toString('utf8');
  if (text === FREE) return undefined;
  try {
    return LockOwner.parse(JSON.parse(text));
  } catch (cause) {
    throw new StoreError(
      'malformed',
      path,
      'does not say who holds the lock. Make sure that nothing uses this folder, then remove it',
      { cause },
    );
  }
}
