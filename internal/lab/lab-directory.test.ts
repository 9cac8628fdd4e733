import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'vitest';
import { aFolder } from '../../test/builders/cli.ts';
import {
  claimDirectory,
  isReleased,
  type LabRecord,
  readLabRecord,
  releaseDirectory,
  watchDirectory,
} from './lab-directory.ts';

const NOW = Date.UTC(2026, 10, 5, 12);

/** Makes the record one of another process. */
function giveTo(directory: string, pid: number): void {
  const path = join(directory, 'lab', 'lab.json');
  const record = JSON.parse(readFileSync(path, 'utf8')) as { process: { pid: number; startedAt: string } };
  record.process.pid = pid;
  record.process.startedAt = startOf(pid);
  writeFileSync(path, JSON.stringify(record));
}

/** As the system says it: field 22 of /proc/PID/stat; nothing where there is no such file. */
function startOf(pid: number): string {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return '';
  const text = readFileSync(path, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

/** Process numbers of Linux end below 4,194,304, those of macOS at 99,998. */
function killOwner(directory: string): void {
  giveTo(directory, 4_999_999);
}

describe('claimDirectory', () => {
  it('makes the directory, for its owner alone, and takes it away again', async () => {
    using folder = aFolder();
    const directory = join(folder.path, 'new');

    await claimDirectory(directory, NOW);
    const mode = statSync(join(directory, 'lab', 'lab.json')).mode & 0o777;
    await releaseDirectory(directory);

    assert.equal(mode, 0o600);
    assert.equal(existsSync(directory), false);
  });

  it('refuses a directory with a cluster in it, and changes nothing', async () => {
    using folder = aFolder();
    writeFileSync(join(folder.path, 'secrets.yaml'), 'precious');

    await assert.rejects(claimDirectory(folder.path, NOW), {
      kind: 'directory',
      message: `${folder.path} holds secrets.yaml of a cluster that is no lab; expected a new or an empty directory`,
    });

    assert.deepEqual(readdirSync(folder.path), ['secrets.yaml']);
  });

  it('refuses a directory in which a lab runs', async () => {
    using folder = aFolder();
    await claimDirectory(folder.path, NOW);

    await assert.rejects(claimDirectory(folder.path, NOW), { kind: 'refused' });
  });

  it('removes what a lab left whose process is dead, and nothing else', async () => {
    using folder = aFolder();
    await claimDirectory(folder.path, NOW);
    for (const name of ['secrets.yaml', 'kubeconfig', 'talosconfig.old', 'audit.jsonl', 'notes.txt'])
      writeFileSync(join(folder.path, name), 'x');
    mkdirSync(join(folder.path, 'operations'));
    killOwner(folder.path);

    const { cleaned } = await claimDirectory(folder.path, NOW);

    assert.equal(cleaned, true);
    assert.deepEqual(readdirSync(folder.path).sort(), ['lab', 'notes.txt']);
    assert.equal((await readLabRecord(folder.path))?.record.process.pid, process.pid);
  });
});

describe('releaseDirectory', () => {
  it('leaves the files of somebody else in a directory that the lab made', async () => {
    using folder = aFolder();
    const directory = join(folder.path, 'new');
    await claimDirectory(directory, NOW);
    writeFileSync(join(directory, 'notes.txt'), 'x');

    await releaseDirectory(directory);

    assert.deepEqual(readdirSync(directory), ['notes.txt']);
  });

  it('leaves the files of a lab that another process runs', async () => {
    using folder = aFolder();
    await claimDirectory(folder.path, NOW);
    // Whoever runs this test lives for as long as it does.
    giveTo(folder.path, process.ppid);

    await releaseDirectory(folder.path);

    assert.deepEqual(readdirSync(folder.path), ['lab']);
  });

  it('does nothing where no lab is', async () => {
    using folder = aFolder();
    writeFileSync(join(folder.path, 'secrets.yaml'), 'precious');

    await releaseDirectory(folder.path);

    assert.deepEqual(readdirSync(folder.path), ['secrets.yaml']);
  });
});

describe('isReleased', () => {
  const made = (madeDirectory: boolean): LabRecord => ({
    process: { pid: 1, host: 'here', startedAt: '', bootId: '', pidNamespace: '' },
    ...{ startedAt: '', madeDirectory },
  });

  it.each([
    ['a record that is left', ['lab/lab.json'], true, false],
    ['the folder of the record alone', ['lab/'], true, false],
    ['an empty directory that the lab made', [], true, false],
    ['an empty directory that was there before', [], false, true],
    ["somebody else's file in a directory that the lab made", ['notes.txt'], true, true],
  ] as const)('%s', async (_what, files, madeDirectory, expected) => {
    using folder = aFolder();
    for (const file of files) {
      mkdirSync(join(folder.path, dirname(file.replace(/\/$/, '/x'))), { recursive: true });
      if (!file.endsWith('/')) writeFileSync(join(folder.path, file), '');
    }

    assert.equal(await isReleased(folder.path, made(madeDirectory)), expected);
  });

  it('is so where the directory is gone', async () => {
    using folder = aFolder();

    assert.equal(await isReleased(join(folder.path, 'gone'), made(true)), true);
  });
});

describe('watchDirectory', () => {
  it('tells when the directory is gone', async () => {
    using folder = aFolder();
    const directory = join(folder.path, 'new');
    await claimDirectory(directory, NOW);

    const gone = new Promise<void>((resolve) => watchDirectory(directory, resolve));
    rmSync(directory, { recursive: true });

    await gone;
  });
});
