import { describe, expect, it } from 'vitest';
import { aBundleDocument, aNewCa } from '../../test/builders/bundle.ts';
import { createServiceAccountKey, Secret } from '../pki/index.ts';
import { openBundle } from './document.ts';
import { backupKey, bundleFingerprint, exportFingerprint } from './fingerprint.ts';

describe('fingerprints', () => {
  // Made with openssl and sha256sum from the certificates of the fixture.
  it('of the fixture are these', async () => {
    const { bundle } = await aBundleDocument();

    expect(bundleFingerprint(bundle)).toBe('b59cc3c9a2cf53b5e65e045c45c922394e8700d89dfc63e6a2376a553beae345');
    expect(exportFingerprint(bundle)).toBe('d1b1e03fa0ef19f1af1cdafec5743d875e6e3dd8d804940ebef8a7be63be97ca');
  });

  it('move with the CAs that they cover and with nothing else', async () => {
    const document = await aBundleDocument();
    const before = [bundleFingerprint(document.bundle), exportFingerprint(document.bundle)];
    const after = (replaced: typeof document) => [
      bundleFingerprint(replaced.bundle),
      exportFingerprint(replaced.bundle),
    ];
    const moved = (replaced: typeof document) =>
      after(replaced).map((fingerprint, index) => fingerprint !== before[index]);

    expect(moved(document.replace({ talos: await aNewCa('talos') }))).toEqual([true, true]);
    expect(moved(document.replace({ kubernetes: await aNewCa('kubernetes') }))).toEqual([true, true]);
    expect(moved(document.replace({ etcd: await aNewCa('etcd') }))).toEqual([false, true]);
    expect(moved(document.replace({ 'kubernetes-aggregator': await aNewCa('kubernetes-aggregator') }))).toEqual([
      false,
      true,
    ]);
    expect(
      moved(document.replace({ 'service-account': await createServiceAccountKey({ algorithm: 'ecdsa-p256' }) })),
    ).toEqual([false, false]);
  });
});

describe('the backup key', () => {
  // Made with Python's hmac: HKDF-SHA256, RFC 5869, over 32 bytes 00 to 1f.
  it('of a fixed cluster is this', () => {
    const key = backupKey({
      clusterId: 'ichor-test-vector',
      clusterSecret: Secret.of('cluster-secret', 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='),
    });

    expect(key.expose()).toBe('f0070e9ae27f057bfca70c5834f2ed74c0f0c338dc4ba1add7ea192f22020aa7');
  });

  it('survives the rotation of everything', async () => {
    const document = await aBundleDocument();
    const replaced = document.replace({
      talos: await aNewCa('talos'),
      kubernetes: await aNewCa('kubernetes'),
      etcd: await aNewCa('etcd'),
      'kubernetes-aggregator': await aNewCa('kubernetes-aggregator'),
    });

    const { bundle } = await openBundle(await replaced.write(), { path: 'secrets.yaml' });

    expect(backupKey(bundle).equals(backupKey(document.bundle))).toBe(true);
  });
});
