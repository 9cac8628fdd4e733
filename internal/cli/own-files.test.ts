import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { aClusterFolder, aFolder, runInProcess } from '../../test/builders/cli.ts';
import { CliError } from './cli-error.ts';
import { refuseOwnFile } from './own-files.ts';

async function refusalOf(path: string, directory: string): Promise<string | undefined> {
  try {
    await refuseOwnFile(path, directory);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof CliError);
    assert.equal(error.exit, 'refused');
    return error.message;
  }
}

describe('a file of the cluster directory', () => {
  it.each([
    ...['secrets.yaml', 'rotation.yaml', 'keyrotation.yaml', 'secrets.previous-0123456789ab.yaml', 'audit.jsonl'],
    ...['talosconfig', 'talosconfig.new', 'talosconfig.old', 'kubeconfig', 'kubeconfig.new', 'kubeconfig.old'],
    ...['operations', 'operations/rotate-1.yaml', 'archive/secrets-0123456789ab.yaml.age', 'lock/owner/1'],
  ])('is refused though it is not there: %s', async (name) => {
    using folder = aFolder();

    assert.equal(
      await refusalOf(join(folder.path, name), folder.path),
      `${join(folder.path, name)} is ${name} of the cluster directory, where nothing else is written`,
    );
  });

  it.each(['copy.yaml', 'kubeconfig-prod', 'secrets.yaml.age', 'backup/secrets.yaml', 'talosconfig.bak'])(
    'is none of another name: %s',
    async (name) => {
      using folder = aFolder();

      assert.equal(await refusalOf(join(folder.path, name), folder.path), undefined);
    },
  );

  it('is one of this directory, and none of another or of the one above', async () => {
    using folder = aClusterFolder();
    using other = aClusterFolder();
    mkdirSync(join(folder.path, 'below'));

    assert.equal(await refusalOf(join(other.path, 'rotation.yaml'), folder.path), undefined);
    assert.equal(await refusalOf(join(folder.path, 'rotation.yaml'), join(folder.path, 'below')), undefined);
  });

  it('is known through links to the directory and into it, from either side', async () => {
    using folder = aClusterFolder();
    using elsewhere = aFolder();
    mkdirSync(join(folder.path, 'operations'));
    const [link, inner] = [join(elsewhere.path, 'link'), join(elsewhere.path, 'inner')];
    symlinkSync(folder.path, link);
    symlinkSync(join(folder.path, 'operations'), inner);

    const named = [
      await refusalOf(join(link, 'rotation.yaml'), folder.path),
      await refusalOf(join(link, 'archive', 'new'), folder.path),
      await refusalOf(join(inner, 'rotate-1.yaml'), folder.path),
      await refusalOf(join(folder.path, 'talosconfig'), link),
    ];

    assert.deepEqual(
      named.map((each) => /is (\S+) of/.exec(each ?? '')?.[1]),
      ['rotation.yaml', 'archive/new', 'operations/rotate-1.yaml', 'talosconfig'],
    );
    assert.equal(await refusalOf(join(link, 'copy.yaml'), folder.path), undefined);
  });
});

describe('ichor cluster rotate-ca', () => {
  it.each(['--log', '--metrics-file'])('writes %s into no file that the rotation lives in', async (option) => {
    using folder = aClusterFolder();
    const bundle = readFileSync(join(folder.path, 'secrets.yaml'));

    const run = await runInProcess(['cluster', 'rotate-ca', '--yes', option, 'secrets.yaml'], {
      directory: folder.path,
    });

    assert.deepEqual(
      [run.code, run.stderr.split('\n')[0]],
      [4, `error: ${folder.path}/secrets.yaml is secrets.yaml of the cluster directory, where nothing else is written`],
    );
    assert.deepEqual(readFileSync(join(folder.path, 'secrets.yaml')), bundle);
  });
});
