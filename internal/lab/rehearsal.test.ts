import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, it } from 'vitest';
import { type BundleDocument, openBundle, type SecretsBundle } from '../../pkg/bundle/index.ts';
import { readMachineConfig } from '../../pkg/machineconfig/index.ts';
import { aFolder } from '../../test/builders/cli.ts';
import { writeConfiguration } from '../simulator/index.ts';
import { addressesOf } from './addresses.ts';
import { newBundle } from './blueprint.ts';
import { readRehearsal } from './rehearsal.ts';

const NOW = Date.UTC(2026, 10, 5, 12);

let real: BundleDocument;
beforeAll(async () => {
  real = await newBundle(NOW);
}, 60_000);

type Shape = 'legacy' | 'typed';

async function writeCluster(
  directory: string,
  machines: Readonly<Record<string, string>>,
  shape: Shape,
): Promise<void> {
  writeFileSync(join(directory, 'secrets.yaml'), await real.write());
  for (const [file, hostname] of Object.entries(machines)) {
    const role = file.startsWith('w') ? 'worker' : 'controlplane';
    const text = writeConfiguration({ role, shape, bundle: real.bundle, hostname, endpoint: 'https://10.1.2.3:6443' });
    writeFileSync(
      join(directory, file),
      hostname === '' ? (text.split('---\napiVersion: v1alpha1\nkind: HostnameConfig')[0] ?? '') : text,
    );
  }
}

const wanted = (controlPlanes: number, workers: number, talosVersion = '1.14.1') => ({
  controlPlanes,
  workers,
  talosVersion,
  addresses: addressesOf(1),
  now: NOW,
});

/** Everything in a bundle that nobody else may see. */
function secretsOf(bundle: SecretsBundle): string[] {
  const keys = [bundle.talos.key, bundle.kubernetes.key, bundle.etcd.key, bundle.aggregator.key];
  const pems = [...keys, bundle.serviceAccount.privateKey].map((key) => key.expose());
  return [
    ...pems.map((pem) => Buffer.from(pem).toString('base64')),
    ...pems.map((pem) => pem.split('\n')[1] ?? ''),
    bundle.clusterSecret.expose(),
    bundle.bootstrapToken.expose(),
    bundle.trustdToken.expose(),
    bundle.secretboxEncryptionSecret?.expose() ?? '',
  ].filter((secret) => secret !== '');
}

describe('readRehearsal', () => {
  it('has one machine for each configuration, by its hostname', async () => {
    using folder = aFolder();
    await writeCluster(
      folder.path,
      { 'a.yaml': 'alpha', 'b.yaml': 'beta', 'c.yaml': 'gamma', 'w.yaml': 'worky' },
      'typed',
    );

    const rehearsal = await readRehearsal({ from: folder.path, replaceKeys: false, credentials: {} });
    const { placements } = await rehearsal.blueprint(wanted(rehearsal.controlPlanes, rehearsal.workers));

    assert.deepEqual(
      placements.map(({ name, role }) => `${name} ${role}`),
      ['alpha controlplane', 'beta controlplane', 'gamma controlplane', 'worky worker'],
    );
  });

  it('takes a configuration without a hostname for as many machines as a usual cluster has', async () => {
    using folder = aFolder();
    await writeCluster(folder.path, { 'controlplane.yaml': '', 'worker.yaml': '' }, 'typed');

    const { controlPlanes, workers } = await readRehearsal({ from: folder.path, replaceKeys: false, credentials: {} });

    assert.deepEqual([controlPlanes, workers], [3, 1]);
  });

  it('copies configurations byte for byte, but for the endpoint', async () => {
    using folder = aFolder();
    await writeCluster(folder.path, { 'cp.yaml': 'alpha' }, 'legacy');

    const rehearsal = await readRehearsal({ from: folder.path, replaceKeys: false, credentials: {} });
    const { placements, bundle } = await rehearsal.blueprint(wanted(1, 0, '1.12.0'));

    const original = readFileSync(join(folder.path, 'cp.yaml'), 'utf8');
    assert.equal(placements[0]?.config, original.replaceAll('https://10.1.2.3:6443', 'https://127.77.1.10:6443'));
    assert.deepEqual(Buffer.from(await bundle.write()), readFileSync(join(folder.path, 'secrets.yaml')));
  });

  it('makes configurations where there is a bundle alone', async () => {
    using folder = aFolder();
    await writeCluster(folder.path, {}, 'typed');

    const rehearsal = await readRehearsal({
      from: join(folder.path, 'secrets.yaml'),
      replaceKeys: false,
      credentials: {},
    });
    const { placements } = await rehearsal.blueprint(wanted(1, 1));

    assert.deepEqual(
      placements.map(({ name }) => name),
      ['cp1', 'w1'],
    );
    assert.equal(
      readMachineConfig(placements[0]?.config ?? '', 'cp1').talos.issuing?.fingerprint,
      real.bundle.talos.certificate.fingerprint,
    );
  });

  it.each(['legacy', 'typed'] as const)('replaces every secret on request (%s)', async (shape) => {
    using folder = aFolder();
    await writeCluster(folder.path, { 'cp.yaml': 'alpha', 'w.yaml': 'worky' }, shape);
    const options = wanted(1, 1, shape === 'typed' ? '1.14.1' : '1.12.0');

    const rehearsal = await readRehearsal({ from: folder.path, replaceKeys: true, credentials: {} });
    const { placements, bundle } = await rehearsal.blueprint(options);

    const texts = [...placements.map(({ config }) => config), Buffer.from(await bundle.write()).toString()];
    for (const secret of secretsOf(real.bundle))
      for (const text of texts) assert.ok(!text.includes(secret), 'a secret of the real cluster stays');
    const { bundle: written } = await openBundle(await bundle.write(), { path: 'secrets.yaml' });
    for (const { config } of placements) {
      const view = readMachineConfig(config, 'copy');
      assert.equal((view.talos.issuing ?? view.talos.accepted[0])?.fingerprint, written.talos.certificate.fingerprint);
      assert.deepEqual(view.problems, []);
      assert.ok(config.includes('# kept by hand: do not lose this line'));
    }
  });

  it('refuses to leave a private key of the real cluster in a comment', async () => {
    using folder = aFolder();
    await writeCluster(folder.path, { 'cp.yaml': 'alpha' }, 'typed');
    const path = join(folder.path, 'cp.yaml');
    const line = real.bundle.etcd.key.expose().split('\n')[1];
    writeFileSync(path, `# ${line}\n${readFileSync(path, 'utf8')}`);

    const rehearsal = await readRehearsal({ from: folder.path, replaceKeys: true, credentials: {} });

    await assert.rejects(rehearsal.blueprint(wanted(1, 0)), { kind: 'refused' });
  });

  it('refuses configurations of another cluster', async () => {
    using folder = aFolder();
    await writeCluster(folder.path, { 'cp.yaml': 'alpha' }, 'typed');
    writeFileSync(join(folder.path, 'secrets.yaml'), await (await newBundle(NOW)).write());

    await assert.rejects(readRehearsal({ from: folder.path, replaceKeys: false, credentials: {} }), {
      kind: 'directory',
      message: /cp\.yaml has the Talos CA [0-9a-f]{16}, and .*secrets\.yaml has [0-9a-f]{16}; expected the same$/,
    });
  });

  it('refuses typed documents for a Talos that does not know them', async () => {
    using folder = aFolder();
    await writeCluster(folder.path, { 'cp.yaml': 'alpha' }, 'typed');
    const rehearsal = await readRehearsal({ from: folder.path, replaceKeys: false, credentials: {} });

    await assert.rejects(rehearsal.blueprint(wanted(1, 0, '1.12.0')), { kind: 'directory' });
  });

  it('names what it expected where there is nothing', async () => {
    await assert.rejects(readRehearsal({ from: '/nowhere/at/all', replaceKeys: false, credentials: {} }), {
      kind: 'directory',
      message:
        '/nowhere/at/all cannot be read; expected a directory with secrets.yaml and machine configurations, or a secrets.yaml',
    });
  });
});
