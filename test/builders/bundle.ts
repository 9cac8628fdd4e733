import { readFileSync } from 'node:fs';
import { type BundleDocument, openBundle } from '../../pkg/bundle/index.ts';
import { type CaTarget, type CertificateAndKey, createCa } from '../../pkg/pki/index.ts';

/** The day on which new CAs of tests are made. */
export const TEST_DAY_MS = Date.UTC(2026, 10, 29);

/** A file of `pkg/bundle/testdata`. The keys in it belong to no cluster. */
export function bundleFixture(name: string): Buffer {
  return readFileSync(new URL(`../../pkg/bundle/testdata/${name}`, import.meta.url));
}

/** The bundle that `talosctl gen secrets` 1.14.1 made once. */
export function aBundleDocument(path = 'secrets.yaml'): Promise<BundleDocument> {
  return openBundle(bundleFixture('secrets-v1.14.txt'), { path });
}

/** A new CA in Talos's profile. */
export function aNewCa(target: CaTarget): Promise<CertificateAndKey> {
  return createCa(target, { now: TEST_DAY_MS });
}
