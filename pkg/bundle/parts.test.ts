import { describe, expect, it } from 'vitest';
import { aBundleDocument, aNewCa, bundleFixture } from '../../test/builders/bundle.ts';
import { Secret } from '../pki/index.ts';
import { openBundle } from './document.ts';
import { createEnvelope } from './envelope.ts';
import { bundleFromParts } from './parts.ts';

describe('a bundle from its parts', () => {
  it.each(['secrets-v1.9.txt', 'secrets-v1.14.txt'])('is byte for byte what talosctl wrote (%s)', async (name) => {
    const { bundle } = await openBundle(bundleFixture(name), { path: name });

    const written = await bundleFromParts(bundle, { path: 'secrets.yaml' }).write();

    expect(Buffer.from(written).toString()).toBe(bundleFixture(name).toString());
  });

  it('quotes a cluster ID that YAML would read as something else', async () => {
    const { bundle } = await aBundleDocument();

    const document = bundleFromParts({ ...bundle, clusterId: '-: "odd' }, { path: 'secrets.yaml' });

    expect(document.bundle.clusterId).toBe('-: "odd');
    expect(Buffer.from(await document.write()).toString()).toContain('    id: "-: \\"odd"\n');
  });

  it('is refused where a key does not fit its certificate', async () => {
    const { bundle } = await aBundleDocument();
    const etcd = { certificate: bundle.etcd.certificate, key: (await aNewCa('etcd')).key };

    expect(() => bundleFromParts({ ...bundle, etcd }, { path: 'secrets.yaml' })).toThrow(
      /^secrets\.yaml: certs\.etcd\.key: the key does not fit the certificate [0-9a-f]{64} \(O=etcd\)$/,
    );
  });

  it('can be written encrypted from the start', async () => {
    const { bundle } = await aBundleDocument();
    const passphrase = Secret.of('passphrase', 'a b c d e f');

    const plain = await bundleFromParts(bundle, { path: 'secrets.yaml' }).write();
    const envelope = createEnvelope({ passphrase, scryptWorkFactor: 8 }, { armored: true });
    const written = await envelope.seal(plain, 'secrets.yaml');

    expect(Buffer.from(written).toString('latin1')).toMatch(/^-----BEGIN AGE ENCRYPTED FILE-----\n/);
    expect((await openBundle(written, { path: 'secrets.yaml', passphrase })).bundle.clusterId).toBe(bundle.clusterId);
  });
});
