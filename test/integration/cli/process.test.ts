import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import { aTalosCa } from '../../builders/talos-server.ts';
import { aTalosconfig } from '../../builders/talosconfig.ts';
import { builtIchor } from '../../support/built-ichor.ts';
import { folderOf, type PrivateFolder } from '../../support/folder.ts';
import { type RunResult, run } from '../../support/run.ts';

/** util-linux's, which runs a program on a terminal of its own. */
const SCRIPT = '/usr/bin/script';

/** What the process of a test sees of its caller: nothing but a home. */
interface Home {
  readonly program: string;
  readonly home: string;
}

/** Runs `ichor` as a shell would, without a terminal. */
function ichor({ program, home }: Home, args: readonly string[]): Promise<RunResult> {
  return run(process.execPath, [program, ...args], {
    env: { HOME: home, NO_COLOR: undefined, TERM: undefined },
    timeoutMs: 300_000,
  });
}

/** Runs `ichor` on a terminal of 100 columns; resolves with all that it drew and its exit code. */
function onTerminal({ program, home }: Home, args: readonly string[]): Promise<{ code: number; drawn: string }> {
  const command = ['stty cols 100 rows 40;', 'exec', process.execPath, program, ...args].join(' ');
  return new Promise((resolve, reject) => {
    const child = spawn(SCRIPT, ['-qefc', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: home, TERM: 'xterm-256color' },
    });
    let drawn = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      drawn += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, drawn }));
  });
}

describe('ichor in a process of its own, on a cluster served over sockets', () => {
  let folder: PrivateFolder;
  let place: Home;
  let directory: string;

  beforeAll(async () => {
    folder = await folderOf({});
    const home = join(folder.path, 'home');
    await mkdir(home);
    place = { program: await builtIchor(), home };
    directory = join(folder.path, 'lab');
    const up = await ichor(place, [
      'lab',
      'up',
      directory,
      '--control-planes',
      '1',
      '--workers',
      '0',
      '--boot-seconds',
      '1',
    ]);
    expect(up.code, up.stderr).toBe(0);
  }, 120_000);

  afterAll(async () => {
    await ichor(place, ['lab', 'down', directory]);
    await folder[Symbol.asyncDispose]();
  });

  it('merges its credentials into the files of a home, beside those of other clusters', async () => {
    const talos = join(place.home, '.talos', 'config');
    await mkdir(join(place.home, '.talos'));
    await writeFile(talos, await aTalosconfig(await aTalosCa(), Date.now(), { name: 'another' }), { mode: 0o600 });

    const merged = await ichor(place, ['cluster', 'credentials', '--merge', '--dir', directory]);

    expect(merged.code, merged.stderr).toBe(0);
    const { contexts } = parseTalosconfig(await readFile(talos, 'utf8'), talos);
    const own = parseTalosconfig(await readFile(join(directory, 'talosconfig'), 'utf8'), 'talosconfig');
    expect(Object.keys(contexts).sort()).toEqual(['another', own.context].sort());
    const kube = join(place.home, '.kube', 'config');
    const kubeconfig = parse(await readFile(kube, 'utf8')) as { clusters: unknown[]; users: unknown[] };
    expect([kubeconfig.clusters.length, kubeconfig.users.length]).toEqual([1, 1]);
    for (const file of [talos, kube]) expect((await stat(file)).mode & 0o777, file).toBe(0o600);
  }, 120_000);

  it.skipIf(!existsSync(SCRIPT))(
    `draws its picture again and again on a terminal${existsSync(SCRIPT) ? '' : ' [skipped: needs script of util-linux]'}`,
    async () => {
      const args = ['cluster', 'rotate-ca', '--ca', 'talos', '--yes', '--follow', '--dir', directory];
      const { code, drawn } = await onTerminal(place, args);

      expect(code, drawn.slice(-2_000)).toBe(0);
      // Up to the first line of the picture, and over it: drawn in place, in colour.
      expect(drawn.split('\u001b[').length).toBeGreaterThan(20);
      expect(drawn.split('\u001b[').some((part) => /^\d*A/.test(part))).toBe(true);
      for (const stage of ['Accepting', 'Issuing', 'Dropping']) expect(drawn).toContain(stage);
      expect(drawn).toContain('rotated: operation');
      expect(drawn).not.toContain('PRIVATE KEY');
    },
    300_000,
  );

  it('prints plain lines, without a control character, where there is no terminal', async () => {
    const args = ['cluster', 'rotate-ca', '--ca', 'talos', '--yes', '--follow', '--dir', directory];

    const { code, stdout, stderr } = await ichor(place, args);

    expect(code, stderr).toBe(0);
    expect(`${stdout}${stderr}`).not.toContain('\u001b');
    expect(stdout).toMatch(/^rotated: operation /m);
  }, 300_000);
});
