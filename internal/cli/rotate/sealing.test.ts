import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { ROTATION_FINALIZER } from '../../../api/v1alpha1/index.ts';
import { createEnvelope } from '../../../pkg/bundle/index.ts';
import { Secret } from '../../../pkg/pki/index.ts';
import { bundleFixture } from '../../../test/builders/bundle.ts';
import { aClusterFolder, aFolder, runInProcess, type TestFolder } from '../../../test/builders/cli.ts';
import { anOperation } from '../../../test/builders/rotation.ts';
import { openEmbeddedStore } from '../../store/index.ts';

const RECIPIENT = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';

const PASSPHRASE = 'correct horse battery staple';
const PLAIN = bundleFixture('secrets-v1.14.txt');

const COMMANDS = [
  ['cluster', 'rotate-ca', '--yes'],
  ['cluster', 'rotate-ca', '--dry-run'],
  ['operation', 'delete', '--yes'],
];

/** A cluster directory with this bundle, in which a rotation has begun. */
async function aRotation(bundle: Uint8Array): Promise<TestFolder> {
  const folder = aFolder();
  writeFileSync(join(folder.path, 'secrets.yaml'), bundle, { mode: 0o600 });
  const store = await openEmbeddedStore({ directory: folder.path });
  const { spec } = anOperation({ stage: 'Pending', targets: ['talos'] });
  await store.createOperation({ name: 'rotate-1', spec, finalizers: [ROTATION_FINALIZER] });
  return folder;
}

/** Runs a command for people who are to be able to open what it writes. */
function forPeople(folder: TestFolder, command: readonly string[]) {
  return runInProcess([...command, '--recipient', RECIPIENT], {
    directory: folder.path,
    env: { ICHOR_PASSPHRASE: PASSPHRASE },
  });
}

describe('--recipient of a command that runs a rotation', () => {
  it.each(COMMANDS)('is refused for a bundle that is plain: %s %s %s', async (...command) => {
    using folder = await aRotation(PLAIN);
    const operation = () => readFileSync(join(folder.path, 'operations', 'rotate-1.yaml'), 'utf8');
    const before = operation();

    const run = await forPeople(folder, command);

    assert.deepEqual(
      [run.code, run.stderr],
      [
        2,
        `error: ${folder.path}/secrets.yaml is plain, and what is written beside it stays so; --recipient names everybody for whom one is that is encrypted for age public keys\nLeave --recipient out. To have it encrypted for these people, while no rotation is under way: ichor cluster bundle-export --recipient age1…,age1… --to FILE, and put FILE in its place. Nothing was changed.\n`,
      ],
    );
    assert.equal(operation(), before);
  });

  it.each(COMMANDS)('is refused for one that a passphrase opens: %s %s %s', async (...command) => {
    // As age does it, with a passphrase that is stretched for less long.
    const passphrase = Secret.of('passphrase', PASSPHRASE);
    const envelope = createEnvelope({ passphrase, scryptWorkFactor: 8 }, { armored: false });
    using folder = await aRotation(await envelope.seal(PLAIN, 'secrets.yaml'));

    const run = await forPeople(folder, command);

    assert.equal(run.code, 2, run.stderr);
    assert.match(run.stderr, /secrets\.yaml is encrypted with a passphrase, and what is written beside it stays so; /);
  });

  it('is followed by what its advice says: the exported bundle takes the place of the plain one', async () => {
    using folder = aClusterFolder();
    const [mine = ''] = /age1\w+/.exec(String(bundleFixture('identity.txt'))) ?? [];
    writeFileSync(join(folder.path, 'identity.txt'), bundleFixture('identity.txt'));
    const options = { directory: folder.path };
    const known = ['--identity', 'identity.txt', '--recipient', mine];

    const exported = await runInProcess(
      ['cluster', 'bundle-export', '--recipient', mine, '--to', 'sealed.age'],
      options,
    );
    writeFileSync(join(folder.path, 'secrets.yaml'), readFileSync(join(folder.path, 'sealed.age')));
    // There is no operation to delete: the bundle was opened, and the recipient taken.
    const run = await runInProcess(['operation', 'delete', '--yes', ...known], options);

    assert.equal(exported.code, 0, exported.stderr);
    assert.equal(run.code, 9, run.stderr);
  });
});
