import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { artefactPath, cacheDirectory, ensureArtefact } from './artefact.ts';

const FIXTURE = join(import.meta.dirname, 'artefact-fixture.ts');

describe('the cache of artefacts', () => {
  let cache: string;
  let log: string;
  const children: ChildProcess[] = [];

  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), 'ichor-cache-'));
    log = join(cache, 'log');
    writeFileSync(log, '');
  });

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    rmSync(cache, { recursive: true, force: true });
  });

  function builder(key: string, milliseconds: number): { child: ChildProcess; ended: Promise<string> } {
    const child = spawn(process.execPath, [FIXTURE, cache, key, log, String(milliseconds)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    return { child, ended: new Promise((resolve) => child.on('close', () => resolve(printed))) };
  }

  const logged = () => readFileSync(log, 'utf8');

  it('is made once when two processes race, and both get it whole', async () => {
    const first = builder('pins-1', 500);
    const second = builder('pins-1', 500);

    const paths = await Promise.all([first.ended, second.ended]);

    expect(paths).toEqual([join(cache, 'tools/fake/pins-1'), join(cache, 'tools/fake/pins-1')]);
    expect(logged()).toBe('begin pins-1\nend pins-1\n');
    expect(readdirSync(paths[0] ?? '').sort()).toEqual(['first', 'second']);
  });

  it('two different artefacts are made one after the other', async () => {
    await Promise.all([builder('pins-1', 300).ended, builder('pins-2', 300).ended]);

    expect(logged()).toMatch(/^begin (\S+)\nend \1\nbegin (\S+)\nend \2\n$/);
  });

  it('a builder killed in the middle leaves nothing under the final name, and the next one finishes the work', async () => {
    const killed = builder('pins-1', 60_000);
    await vi.waitFor(() => expect(logged()).toBe('begin pins-1\n'), { timeout: 10_000 });
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(existsSync(join(cache, 'tools/fake/pins-1'))).toBe(false);

    const path = await builder('pins-1', 0).ended;

    expect(readdirSync(path).sort()).toEqual(['first', 'second']);
    expect(readdirSync(join(cache, 'tools/fake'))).toEqual(['pins-1']);
  });

  it('a process that waits takes over when the builder is killed', async () => {
    const killed = builder('pins-1', 60_000);
    await vi.waitFor(() => expect(logged()).toBe('begin pins-1\n'), { timeout: 10_000 });
    const waiting = builder('pins-1', 0);

    killed.child.kill('SIGKILL');

    expect(await waiting.ended).toBe(join(cache, 'tools/fake/pins-1'));
    expect(logged()).toBe('begin pins-1\nbegin pins-1\nend pins-1\n');
  });

  it('changed pins are built beside the old ones, which stay', async () => {
    await builder('pins-1', 0).ended;
    await builder('pins-2', 0).ended;

    expect(readdirSync(join(cache, 'tools/fake')).sort()).toEqual(['pins-1', 'pins-2']);
  });

  it('what other pins made more than a month ago is dropped', async () => {
    const old = await builder('pins-1', 0).ended;
    const longAgo = new Date(Date.now() - 31 * 24 * 3_600_000);
    utimesSync(old, longAgo, longAgo);

    await builder('pins-2', 0).ended;

    expect(readdirSync(join(cache, 'tools/fake'))).toEqual(['pins-2']);
  });

  it('a builder that fails leaves nothing, and its error comes through', async () => {
    const failing = ensureArtefact(cache, {
      name: 'tools/fake',
      key: 'pins-1',
      make: async (out) => {
        writeFileSync(out, 'half');
        throw new Error('the compiler says no');
      },
    });

    await expect(failing).rejects.toThrow('the compiler says no');
    expect(readdirSync(join(cache, 'tools/fake'))).toEqual([]);
  });

  it('what is there is not made again', async () => {
    const path = await builder('pins-1', 0).ended;

    const again = await ensureArtefact(cache, {
      name: 'tools/fake',
      key: 'pins-1',
      make: () => Promise.reject(new Error('made again')),
    });

    expect(again).toBe(path);
    expect(artefactPath(cache, { name: 'tools/fake', key: 'pins-1' })).toBe(path);
  });
});

describe('the place of the cache', () => {
  it.each([
    [{ ICHOR_CACHE: '/a', XDG_CACHE_HOME: '/b' }, '/a'],
    [{ XDG_CACHE_HOME: '/b' }, '/b/ichor'],
  ])('with %o it is %s', (env, directory) => {
    expect(cacheDirectory(env)).toBe(directory);
  });
});
