import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, it } from 'vitest';
import { aFolder, type CliRun, runInProcess } from '../../../../test/builders/cli.ts';
import { type LabStatus, readLabRecord } from '../../../lab/index.ts';

/** Every lab of this file has one control plane: what is asked here does not depend on the number. */
const SMALL = ['--control-planes', '1', '--workers', '0', '--boot-seconds', '0.5'];

const folder = aFolder();
const directory = join(folder.path, 'lab');

afterEach(async () => {
  // Whatever a failed test left running.
  await runInProcess(['lab', 'down', directory]);
  rmSync(directory, { recursive: true, force: true });
});

afterAll(() => folder[Symbol.dispose]());

async function lab(...argv: readonly string[]): Promise<CliRun> {
  return runInProcess(['lab', ...argv], { directory });
}

async function up(): Promise<LabStatus> {
  const run = await runInProcess(['lab', 'up', directory, ...SMALL, '-o', 'json']);
  assert.equal(run.code, 0, run.stderr);
  return JSON.parse(run.stdout) as LabStatus;
}

async function status(): Promise<LabStatus> {
  const run = await lab('status', '-o', 'json');
  assert.equal(run.code, 0, run.stderr);
  return JSON.parse(run.stdout) as LabStatus;
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await holds())) {
    assert.ok(performance.now() < end, `waited 30 s until ${what}`);
    await sleep(50);
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

describe('ichor lab', () => {
  it('gives credentials that only their owner reads, and removes everything at the end', async () => {
    const { pid, machines } = await up();
    const modes = ['secrets.yaml', 'talosconfig', 'kubeconfig', join('lab', 'control.sock')].map(
      (name) => statSync(join(directory, name)).mode & 0o777,
    );
    const run = await lab('down');

    assert.deepEqual(
      machines.map(({ name, state, node, etcd, apiServer }) => [name, state, node, etcd, apiServer]),
      [['cp1', 'running', 'Ready', 'leader', 'ready']],
    );
    assert.deepEqual(modes, [0o600, 0o600, 0o600, 0o600]);
    assert.equal(run.code, 0, run.stderr);
    assert.equal(existsSync(directory), false);
    await until('its process has ended', () => isGone(pid));
  });

  it('works as a cluster for the other commands', async () => {
    await up();

    const { stdout } = await promisify(execFile)(process.execPath, [
      'cmd/ichor/main.ts',
      ...['cluster', 'status', '--dir', directory],
    ]);

    assert.match(stdout, /^cluster lab in /);
    assert.match(stdout, /\ncp1 {6}controlplane {2}1\.14\.1 {2}Ready {2}Before Before Before Before\n/);
  });

  it('gives a shell in which this ichor works on the lab, whatever it was started as', async () => {
    await up();
    const script = join(folder.path, 'a shell');
    writeFileSync(script, '#!/bin/sh\necho "$TALOSCONFIG $KUBECONFIG" > seen\nichor cluster status >> seen\n', {
      mode: 0o700,
    });

    const run = await runInProcess(['lab', 'shell', directory], {
      env: { SHELL: script, PATH: process.env.PATH ?? '' },
    });

    assert.equal(run.code, 0, run.stderr);
    const [files, cluster] = readFileSync(join(directory, 'seen'), 'utf8').split('\n');
    assert.equal(files, `${join(directory, 'talosconfig')} ${join(directory, 'kubeconfig')}`);
    assert.equal(cluster, `cluster lab in ${directory}`);
    rmSync(join(directory, 'seen'));
    await lab('down');
    assert.equal(existsSync(directory), false);
  });

  it('breaks and mends, and refuses what makes no sense', async () => {
    await up();

    const list = await lab('break', '--list', '-o', 'json');
    const broken = await lab('break', 'etcd-stop', 'cp1');
    const ill = await status();
    const twice = await lab('break', 'etcd-stop', 'cp1');
    const nobody = await lab('break', 'etcd-stop', 'cp9');
    const nothing = await lab('break', 'gremlins', 'cp1');
    const mended = await lab('mend');
    const well = await status();

    assert.ok((JSON.parse(list.stdout) as { name: string }[]).some(({ name }) => name === 'frozen-apiserver'));
    assert.equal(broken.stdout, 'etcd-stop on cp1; until ichor lab mend etcd-stop cp1\n');
    assert.deepEqual(
      [ill.machines[0]?.etcd, ill.faults.map(({ fault, machine }) => `${fault} ${machine}`)],
      ['unhealthy', ['etcd-stop cp1']],
    );
    assert.deepEqual([twice.code, twice.stderr], [4, 'error: etcd-stop is in force already on cp1\n']);
    assert.deepEqual([nobody.code, nobody.stderr], [2, 'error: there is no machine cp9; there are: cp1\n']);
    assert.match(nothing.stderr, /^error: there is no fault "gremlins"; there are: power-loss, /);
    assert.match(mended.stdout, /^mended: etcd-stop on cp1 since /);
    assert.deepEqual(well.faults, []);
  });

  it('reboots a machine, and says what happened to it', async () => {
    await up();

    const reboot = await lab('reboot', 'cp1');
    await until('cp1 is back', async () => {
      const [machine] = (await status()).machines;
      return machine?.reboots === 1 && machine.apiServer === 'ready';
    });
    const logs = await lab('logs', 'cp1');
    const nobody = await lab('logs', 'cp9');

    assert.deepEqual([nobody.code, nobody.stderr], [2, 'error: there is no machine cp9; there are: cp1\n']);
    assert.equal(reboot.stdout, 'cp1 reboots\n');
    assert.match(logs.stdout, / cp1 {6}reboot begins\n(?:.*\n)* *.* cp1 {6}up in boot 2\n/);
  });

  it('is cleaned up by the next start when its process was killed', async () => {
    const { pid } = await up();
    process.kill(pid, 'SIGKILL');
    await until('the kernel has taken it', async () => (await readLabRecord(directory))?.isAlive === false);

    const dead = await lab('status');
    const again = await runInProcess(['lab', 'up', directory, ...SMALL]);

    assert.equal(dead.code, 4);
    assert.match(dead.stderr, /has ended without cleaning up\nRemove what it left with ichor lab down/);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /^note: an earlier lab here had ended without cleaning up; what it left was removed\n/);
  });

  it('ends when its directory is removed', async () => {
    const { pid } = await up();

    rmSync(directory, { recursive: true });

    await until('its process has ended', () => isGone(pid));
    assert.equal(existsSync(directory), false);
  });

  it('refuses a directory with a cluster in it, with the words of the process in the background', async () => {
    await up();

    const second = await runInProcess(['lab', 'up', directory, ...SMALL]);
    const precious = aFolder();
    writeFileSync(join(precious.path, 'secrets.yaml'), 'precious');
    const refused = await runInProcess(['lab', 'up', precious.path, ...SMALL]);

    assert.equal(second.code, 4);
    assert.match(
      second.stderr,
      /^error: a lab runs in .* already \(process \d+ on .*\)\nLook at it with ichor lab status/,
    );
    assert.equal(refused.code, 6);
    assert.match(
      refused.stderr,
      /^error: .* holds secrets\.yaml of a cluster that is no lab; expected a new or an empty directory\n/,
    );
    assert.deepEqual(readdirSync(precious.path), ['secrets.yaml']);
    rmSync(precious.path, { recursive: true });
  });

  it.each(['down', 'status', 'shell'])('%s takes the directory once, or twice the same', async (command) => {
    const two = await runInProcess(['lab', command, 'a', '--dir', 'b'], { directory: folder.path });
    const same = await runInProcess(['lab', command, 'a', '--dir', './a'], { directory: folder.path });

    assert.deepEqual(
      [two.code, two.stderr],
      [2, `error: two labs are named: ${folder.path}/a and --dir ${folder.path}/b\nName one of them.\n`],
    );
    assert.equal(same.code, 4, same.stderr);
  });

  it('says which identity cannot be read', async () => {
    const run = await runInProcess(['lab', 'up', 'a', '--from', 'b', '--identity', 'none'], { directory: folder.path });

    assert.deepEqual(
      [run.code, run.stderr],
      [6, `error: the age identity ${folder.path}/none cannot be read\nCheck --identity.\n`],
    );
  });

  it.each([
    [['--talos', '1.15'], '--talos: a lab has Talos 1.9 to 1.14; "1.15" was asked for'],
    [['--boot-seconds', 'soon'], '--boot-seconds: "soon" is no number'],
    [['--control-planes', '0'], 'a lab has 1 to 9 control planes; 0 were asked for'],
    [['--replace-keys'], '--replace-keys needs --from: a new lab has new keys'],
    [['--identity', 'key.txt'], '--identity needs --from: the secrets of a new lab are not encrypted'],
  ])('refuses %j and leaves nothing', async (options, message) => {
    const run = await runInProcess(['lab', 'up', directory, ...options]);

    assert.deepEqual([run.code, run.stderr.split('\n')[0]], [2, `error: ${message}`]);
    assert.equal(existsSync(directory), false);
  });
});
