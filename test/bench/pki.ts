import { X509Certificate } from 'node:crypto';
import { createCa, parseCertificates, writeCertificates } from '../../pkg/pki/index.ts';

/** One measured number beside what it is compared with. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the same machine needs for the bare minimum, in the same unit. */
  readonly reference: number;
  /** `value / reference`. */
  readonly ratio: number;
}

const BUNDLES = 10;
const CAS_A_BUNDLE = 100;

/** Strict reading of bundles with both fingerprints of 1,000 CAs, against Node's bare parsing and its one fingerprint. */
export async function run(): Promise<BenchRow[]> {
  const now = Date.now();
  const cas = await Promise.all(Array.from({ length: CAS_A_BUNDLE }, () => createCa('kubernetes', { now })));
  const certificates = cas.map((ca) => ca.certificate);
  const bundle = writeCertificates(certificates);

  const reference = median(() => {
    for (let round = 0; round < BUNDLES; round += 1) {
      for (const { pem } of certificates) new X509Certificate(pem).fingerprint256;
    }
  });
  const value = median(() => {
    for (let round = 0; round < BUNDLES; round += 1) parseCertificates(bundle);
  });
  return [{ name: 'fingerprints of 1,000 CAs', value, unit: 'ms', reference, ratio: value / reference }];
}

function median(work: () => void): number {
  const times = Array.from({ length: 7 }, () => {
    const begin = performance.now();
    work();
    return performance.now() - begin;
  });
  return times.sort((a, b) => a - b)[3] ?? 0;
}
