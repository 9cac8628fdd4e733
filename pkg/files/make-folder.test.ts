import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder } from './index.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ichor-files-'));
});
afterEach(() => rmSync(root, { recursive: true }));

describe('making a folder', () => {
  it('makes those above it too, for its owner alone', async () => {
    await makeFolder(join(root, 'a', 'b'));

    expect(statSync(join(root, 'a')).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, 'a', 'b')).mode & 0o777).toBe(0o700);
  });

  it('does nothing where it is there, also for two at once', async () => {
    const folder = join(root, 'a', 'b');

    await Promise.all([makeFolder(folder), makeFolder(folder)]);
    await makeFolder(folder);

    expect(statSync(folder).isDirectory()).toBe(true);
  });

  it('fails at a file, in its place or above it', async () => {
    writeFileSync(join(root, 'file'), '');

    await expect(makeFolder(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolder(join(root, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it.runIf(process.platform === 'linux')('ends where no folder can be made, as in /proc', async () => {
    await expect(makeFolder('/proc/ichor/a')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
