import { randomUUID } from 'node:crypto';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Who holds a lock, as its file says. */
export interface LockOwner {
  readonly pid: number;
  /** What tells this process from a later one with the same number: boot, PID namespace, start time. */
  readonly boot: string;
  readonly namespace: string;
  readonly started: string;
  /** What the lock is held for, for the people who wait. */
  readonly purpose: string;
  /** When it was taken, milliseconds since the epoch. */
  readonly since: number;
}

/** A lock that this process holds. It ends with `release`, with `using`, or with the process, however that ends. */
export interface Lock {
  release(): void;
  [Symbol.dispose](): void;
}

const HEARTBEAT_MS = 5_000;
const HEARTBEAT_LOST_MS = 60_000;
const FREE = 'free\n';

/**
 * Takes the lock that the directory stands for, or says who holds it.
 *
 * The directory holds numbered files; the highest one is the lock's state. It
 * is only ever superseded by the next number, made with link(2), which one
 * process alone can win. So a lock whose owner died is taken over without the
 * race in which a slow process removes the lock of the one that was faster.
 */
export function tryLock(directory: string, purpose: string): Lock | LockOwner {
  mkdirSync(directory, { recursive: true });
  for (;;) {
    const last = highest(directory);
    const owner = last === 0 ? undefined : readOwner(directory, last);
    if (owner !== undefined && isAlive(directory, last, owner)) return owner;
    const mine = last + 1;
    if (!create(directory, mine, JSON.stringify(ownerNow(purpose)))) continue;
    // Files below the highest are removed, so a very late link may succeed: it holds only if nothing is above it.
    if (highest(directory) === mine) return held(directory, mine);
    rmSync(join(directory, String(mine)), { force: true });
  }
}

/** Waits for the lock. `onWait` hears once of each owner that it waits for. */
export async function lock(
  directory: string,
  options: { purpose: string; onWait?: (owner: LockOwner) => void },
): Promise<Lock> {
  let heard = '';
  for (;;) {
    const result = tryLock(directory, options.purpose);
    if (isLock(result)) return result;
    const owner = `${result.pid} ${result.started} ${result.since}`;
    if (owner !== heard) options.onWait?.(result);
    heard = owner;
    await sleep(200);
  }
}

/** Tells a lock that was taken from the owner who has it. */
export function isLock(result: Lock | LockOwner): result is Lock {
  return 'release' in result;
}

function held(directory: string, number: number): Lock {
  const file = join(directory, String(number));
  for (const name of numbers(directory)) if (name < number) rmSync(join(directory, String(name)), { force: true });
  const heartbeat = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(file, now, now);
    } catch {
      // The cache was removed under us; whoever did that owns the consequences.
      clearInterval(heartbeat);
    }
  }, HEARTBEAT_MS);
  heartbeat.unref();
  let released = false;
  function release(): void {
    if (released) return;
    released = true;
    clearInterval(heartbeat);
    const free = join(directory, `.free-${randomUUID()}`);
    writeFileSync(free, FREE);
    renameSync(free, file);
  }
  return { release, [Symbol.dispose]: release };
}

function create(directory: string, number: number, content: string): boolean {
  const draft = join(directory, `.draft-${randomUUID()}`);
  writeFileSync(draft, content);
  try {
    linkSync(draft, join(directory, String(number)));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function numbers(directory: string): number[] {
  return readdirSync(directory)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function highest(directory: string): number {
  return Math.max(0, ...numbers(directory));
}

/** The owner that the file names; nobody if it was released, or replaced while we looked. */
function readOwner(directory: string, number: number): LockOwner | undefined {
  try {
    const text = readFileSync(join(directory, String(number)), 'utf8');
    return text === FREE ? undefined : (JSON.parse(text) as LockOwner);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Names a process that runs, this one unless told otherwise, so that others can see whether it still does. */
export function ownerNow(purpose: string, pid = process.pid): LockOwner {
  return {
    pid,
    boot: readText('/proc/sys/kernel/random/boot_id') ?? 'unknown',
    namespace: readLink('/proc/self/ns/pid') ?? 'unknown',
    started: startOf(pid) ?? 'unknown',
    purpose,
    since: Date.now(),
  };
}

/** Whether the process still runs; undefined if that cannot be told, as for one of another container. */
export function ownerRuns(owner: LockOwner): boolean | undefined {
  const self = ownerNow('');
  if (owner.boot !== self.boot) return false;
  if (owner.namespace !== self.namespace) return undefined;
  return startOf(owner.pid) === owner.started;
}

function isAlive(directory: string, number: number, owner: LockOwner): boolean {
  const runs = ownerRuns(owner);
  if (runs !== undefined) return runs;
  // Another container on the same machine: its process numbers mean nothing here, only its heartbeat does.
  const beat = statSync(join(directory, String(number)), { throwIfNoEntry: false });
  return beat !== undefined && Date.now() - beat.mtimeMs < HEARTBEAT_LOST_MS;
}

/** When a process started, in the kernel's ticks; undefined if there is none of that number. */
function startOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const stat = readText(`/proc/${pid}/stat`);
    // The name in parentheses may hold anything; field 22 counts from before it, a zombie does not count as alive.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields === undefined || fields[0] === 'Z' ? undefined : fields[19];
  }
  try {
    process.kill(pid, 0);
    return 'running';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'running' : undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
