import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isLock, type LockOwner, lock, tryLock } from './lock.ts';

describe('a lock', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'ichor-lock-'));
  });

  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  function ownerFile(changes: Partial<LockOwner>): void {
    const mine = tryLock(directory, 'a test');
    if (!isLock(mine)) throw new Error('the lock is not free');
    const [name = ''] = readdirSync(directory);
    const owner = JSON.parse(readFileSync(join(directory, name), 'utf8')) as LockOwner;
    writeFileSync(join(directory, name), JSON.stringify({ ...owner, ...changes }));
  }

  it('names its owner to whoever comes second', () => {
    using _first = tryLock(directory, 'building etcd') as Disposable;

    expect(tryLock(directory, 'building etcd too')).toMatchObject({ pid: process.pid, purpose: 'building etcd' });
  });

  it('is free again after release, as often as one likes', async () => {
    for (let round = 0; round < 5; round += 1) {
      using held = await lock(directory, { purpose: `round ${round}` });
      expect(isLock(tryLock(directory, 'meanwhile'))).toBe(false);
      held.release();
      held.release();
    }

    expect(readdirSync(directory)).toEqual(['5']);
  });

  it('of a process that ended is taken over', () => {
    const ended = spawnSync(process.execPath, ['-e', '']).pid;
    ownerFile({ pid: ended, started: '1' });

    expect(isLock(tryLock(directory, 'next'))).toBe(true);
  });

  it('of a process whose number another one has now is taken over', () => {
    ownerFile({ pid: process.pid, started: '1' });

    expect(isLock(tryLock(directory, 'next'))).toBe(true);
  });

  it('from before a restart of the machine is taken over', () => {
    ownerFile({ boot: 'another boot' });

    expect(isLock(tryLock(directory, 'next'))).toBe(true);
  });

  it('of another container is respected while its heartbeat is fresh, and taken over a minute later', () => {
    ownerFile({ namespace: 'pid:[1]', pid: 1 });
    expect(isLock(tryLock(directory, 'next'))).toBe(false);

    const longAgo = new Date(Date.now() - 61_000);
    utimesSync(join(directory, '1'), longAgo, longAgo);

    expect(isLock(tryLock(directory, 'next'))).toBe(true);
  });

  it('goes to exactly one of many processes that see its owner dead', () => {
    ownerFile({ pid: process.pid, started: '1' });
    const contenders = Array.from({ length: 50 }, () => tryLock(directory, 'contender'));

    expect(contenders.filter(isLock)).toHaveLength(1);
  });

  it('says once whom it waits for', async () => {
    const first = await lock(directory, { purpose: 'building kubelet' });
    const heard: string[] = [];

    const second = lock(directory, {
      purpose: 'waiting',
      onWait: (owner) => {
        heard.push(owner.purpose);
        setTimeout(() => first.release(), 500);
      },
    });

    (await second).release();
    expect(heard).toEqual(['building kubelet']);
  });
});
