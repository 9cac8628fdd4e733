import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  backupKey,
  bundleFingerprint,
  bundleFromParts,
  exportFingerprint,
  openBundle,
} from '../../../pkg/bundle/index.ts';
import { createEncryptionKey, createServiceAccountKey } from '../../../pkg/pki/index.ts';
import { aNewCa } from '../../builders/bundle.ts';
import { describeReal } from '../../support/real.ts';
import { output } from '../../support/run.ts';
import { toolPath } from '../../tools/tools.ts';

const CONTRACTS = ['v1.9', 'v1.10', 'v1.11', 'v1.12', 'v1.13', 'v1.14'];

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'ichor-bundle-'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const talosctl = (...args: string[]) => output(toolPath('talosctl'), args);

async function genSecrets(contract: string): Promise<Buffer> {
  const path = join(directory, `secrets-${contract}.yaml`);
  await talosctl('gen', 'secrets', '--talos-version', contract, '--output-file', path, '--force');
  return readFileSync(path);
}

/** The control-plane configuration that `talosctl gen config` renders from a bundle. */
async function genConfig(contract: string, secrets: Uint8Array): Promise<string> {
  const input = join(directory, `with-${contract}.yaml`);
  const result = join(directory, `controlplane-${contract}.yaml`);
  writeFileSync(input, secrets, { mode: 0o600 });
  await talosctl(
    'gen',
    'config',
    'c1',
    'https://10.0.0.1:6443',
    '--with-secrets',
    input,
    '--talos-version',
    contract,
    '--output-types',
    'controlplane',
    '--output',
    result,
    '--force',
  );
  return result;
}

/** Every PEM certificate in a configuration, whether it stands there as text or as base64 of text. */
function certificatesIn(path: string): string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) look(item);
    if (typeof value !== 'string') return;
    const text = value.startsWith('LS0tLS1CRUdJTi') ? Buffer.from(value, 'base64').toString() : value;
    if (text.startsWith('-----BEGIN CERTIFICATE-----')) found.push(text);
  };
  for (const document of parseAllDocuments(readFileSync(path, 'utf8'))) look(document.toJS());
  return found;
}

describeReal('talosctl and our bundle', { tools: ['talosctl'] }, () => {
  describe.each(CONTRACTS)('contract %s', (contract) => {
    let secrets: Buffer;

    beforeAll(async () => {
      secrets = await genSecrets(contract);
    });

    it('reads what gen secrets makes, writes it back byte for byte, and writes the same from its parts', async () => {
      const document = await openBundle(secrets, { path: 'secrets.yaml' });

      expect(document.bundle.talos.certificate.subject).toBe('O=talos');
      expect(Buffer.from(await document.write()).equals(secrets)).toBe(true);
      expect(Buffer.from(await bundleFromParts(document.bundle, { path: 'new.yaml' }).write()).equals(secrets)).toBe(
        true,
      );
    });

    it('rotates everything in it, and gen config renders the new material from it', async () => {
      const before = await openBundle(secrets, { path: 'secrets.yaml' });
      const [talos, kubernetes, etcd, aggregator] = await Promise.all([
        aNewCa('talos'),
        aNewCa('kubernetes'),
        aNewCa('etcd'),
        aNewCa('kubernetes-aggregator'),
      ]);

      const after = before.replace({
        talos,
        kubernetes,
        etcd,
        'kubernetes-aggregator': aggregator,
        'service-account': await createServiceAccountKey({ algorithm: 'ecdsa-p256' }),
        'etcd-encryption': createEncryptionKey('secretbox', 'key3'),
      });
      const config = await genConfig(contract, await after.write());
      const extracted = join(directory, `extracted-${contract}.yaml`);
      await talosctl('gen', 'secrets', '--from-controlplane-config', config, '--output-file', extracted, '--force');

      expect(certificatesIn(config).sort()).toEqual(
        [talos, kubernetes, etcd, aggregator].map((ca) => ca.certificate.pem).sort(),
      );
      // What talosctl takes out of that configuration again is the bundle that we wrote.
      const { bundle } = await openBundle(readFileSync(extracted), { path: extracted });
      expect(exportFingerprint(bundle)).toBe(exportFingerprint(after.bundle));
      expect(bundle.serviceAccount.fingerprint).toBe(after.bundle.serviceAccount.fingerprint);
      expect(
        bundle.secretboxEncryptionSecret?.equals(after.bundle.secretboxEncryptionSecret ?? bundle.clusterSecret),
      ).toBe(true);
      expect(bundleFingerprint(bundle)).not.toBe(bundleFingerprint(before.bundle));
      expect(backupKey(bundle).equals(backupKey(before.bundle))).toBe(true);
    });
  });
});
