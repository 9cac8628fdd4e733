import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderOf } from './folder.ts';
import { ownerNow } from './lock.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';

describe('the temporary directory of a run', () => {
  it('is where the tests of this run put theirs', () => {
    expect(basename(tmpdir())).toMatch(/^ichor-tests-/);
  });

  it('goes with all that is in it, and says what that was', async () => {
    await using parent = await folderOf({});
    const directory = makeTemporaryDirectory(parent.path);
    writeFileSync(join(directory.path, 'forgotten'), '');

    expect(statSync(directory.path).mode & 0o777).toBe(0o700);
    expect(directory.remove()).toEqual(['forgotten']);
    expect(existsSync(directory.path)).toBe(false);
  });

  it('of a killed run goes with the next one, and of a running one stays', async () => {
    await using parent = await folderOf({});
    const killed = makeTemporaryDirectory(parent.path);
    const running = makeTemporaryDirectory(parent.path);
    const ended = { ...ownerNow('running the tests'), started: 'never' };
    writeFileSync(join(killed.path, 'owner.json'), JSON.stringify(ended));

    const next = makeTemporaryDirectory(parent.path);

    expect(readdirSync(parent.path).sort()).toEqual([basename(running.path), basename(next.path)].sort());
  });
});
