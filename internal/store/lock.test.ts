import { beforeEach, describe, expect, it } from 'vitest';
import { createDisk, createMemoryFiles, type MemoryDisk, ProcessDied } from '../../test/builders/memory-files.ts';
import { type HeldLock, isHeldLock, type LockMeans, lockOwner, tryLock } from './lock.ts';
import type { Liveness, Processes } from './process-identity.ts';

const FOLDER = '/cluster/lock/owner';
const NOW_MS = Date.UTC(2026, 10, 29);

let disk: MemoryDisk;
let dead: Set<number>;
let names = 0;

beforeEach(() => {
  disk = createDisk('/cluster');
  dead = new Set();
  names = 0;
});

/** Process `pid` on host `host`; which ones are dead is in `dead`, and of another host nothing is known. */
function processes(pid: number, host = 'h'): Processes {
  const liveness = (other: { pid: number; host: string }): Liveness =>
    other.host !== host ? 'unknown' : dead.has(other.pid) ? 'dead' : 'alive';
  return { self: () => ({ host, pid, bootId: 'b', pidNamespace: 'n', startedAt: String(pid) }), liveness };
}

function means(pid: number, options: { host?: string; files?: LockMeans['files'] } = {}): LockMeans {
  return {
    files: options.files ?? createMemoryFiles(disk),
    processes: processes(pid, options.host),
    uniqueName: () => (names++).toString(16).padStart(16, '0'),
    now: () => NOW_MS,
  };
}

async function take(pid: number, host?: string): Promise<HeldLock> {
  const result = await tryLock(means(pid, host === undefined ? {} : { host }), FOLDER, { purpose: 'a rotation' });
  if (!isHeldLock(result)) throw new Error(`held by ${result.pid}`);
  return result;
}

describe('the lock', () => {
  it('is taken, names its owner to everybody else, and is free again after it was given back', async () => {
    const lock = await take(1);

    const refused = await tryLock(means(2), FOLDER, { purpose: 'another' });
    expect(refused).toEqual({
      host: 'h',
      pid: 1,
      bootId: 'b',
      pidNamespace: 'n',
      startedAt: '1',
      purpose: 'a rotation',
      since: '2026-11-29T00:00:00.000Z',
    });

    await lock.release();
    await lock.release();
    expect(await lockOwner(createMemoryFiles(disk), FOLDER)).toBeUndefined();
    expect((await take(2)).takenFrom).toBeUndefined();
  });

  it('is taken over from a dead owner, who finds that it is not his any more', async () => {
    const first = await take(1);
    dead.add(1);

    const second = await take(2);

    expect(second.takenFrom?.pid).toBe(1);
    expect(second.generation).toBeGreaterThan(first.generation);
    expect(await first.isHeld()).toBe(false);
    expect(await second.isHeld()).toBe(true);
  });

  it('is not given back by an owner who lost it', async () => {
    const first = await take(1);
    dead.add(1);
    const second = await take(2);

    await first.release();

    expect(await second.isHeld()).toBe(true);
  });

  it('is taken from an owner on another host only when that is asked for, and from a living one never', async () => {
    await take(1, 'elsewhere');

    expect(isHeldLock(await tryLock(means(2), FOLDER, { purpose: 'p' }))).toBe(false);
    const taken = await tryLock(means(2), FOLDER, { purpose: 'p', takeOver: true });
    expect(isHeldLock(taken) && taken.takenFrom?.host).toBe('elsewhere');
    expect(isHeldLock(await tryLock(means(3), FOLDER, { purpose: 'p', takeOver: true }))).toBe(false);
  });

  it('goes to one of twenty processes that all find a dead owner at once', async () => {
    await take(1);
    dead.add(1);

    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => tryLock(means(100 + index), FOLDER, { purpose: 'p' })),
    );

    const winners = results.filter(isHeldLock);
    const held = await Promise.all(winners.map((lock) => lock.isHeld()));
    expect(held.filter(Boolean)).toEqual([true]);
    expect(winners.length).toBe(1);
  });

  it('can be taken after its owner died at any step of taking it or giving it back', async () => {
    const counting = createMemoryFiles(createDisk('/cluster'));
    const whole = await tryLock(means(1, { files: counting }), FOLDER, { purpose: 'p' });
    if (isHeldLock(whole)) await whole.release();

    for (let step = 1; step <= counting.steps.length; step += 1) {
      disk = createDisk('/cluster');
      dead = new Set([1]);
      const files = createMemoryFiles(disk, { step, kind: 'die' });
      await expect(
        (async () => {
          const lock = await tryLock(means(1, { files }), FOLDER, { purpose: 'p' });
          if (isHeldLock(lock)) await lock.release();
          // Steps of clearing up swallow their errors; the process is dead all the same.
          await files.read(FOLDER);
        })(),
      ).rejects.toBeInstanceOf(ProcessDied);

      const lock = await take(2);
      expect(await lock.isHeld()).toBe(true);
      await lock.release();
    }
    expect(counting.steps.length).toBeGreaterThan(8);
  });

  it('can be given back on a full disk', async () => {
    const files = createMemoryFiles(disk, { step: 10, kind: 'ENOSPC', lasts: true });
    const lock = await tryLock(means(1, { files }), FOLDER, { purpose: 'p' });
    if (!isHeldLock(lock)) throw new Error('held');

    await expect(files.create('/cluster/x', Buffer.from('x'))).rejects.toThrow('ENOSPC');
    await lock.release();

    expect(await lockOwner(files, FOLDER)).toBeUndefined();
  });

  it('whose file says nothing sensible is refused with what to do', async () => {
    const files = createMemoryFiles(disk);
    await files.makeDirectory(FOLDER);
    await files.create(`${FOLDER}/1`, Buffer.from('{"pid'));

    await expect(tryLock(means(2), FOLDER, { purpose: 'p' })).rejects.toThrow(
      '/cluster/lock/owner/1: does not say who holds the lock. Make sure that nothing uses this folder, then remove it',
    );
  });
});
