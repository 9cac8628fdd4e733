import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { TargetMaterial } from '../../internal/rotation/observation.ts';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';

/**
 * The fingerprints of the tests: a letter a target, `01d` for the old CA. The
 * core compares fingerprints and nothing else of a certificate, so these stand
 * for certificates that nobody ever signed, and messages stay readable.
 */
export const OLD: Readonly<Record<CaTarget, Fingerprint>> = {
  talos: print('a01d'),
  kubernetes: print('b01d'),
  etcd: print('c01d'),
  'kubernetes-aggregator': print('d01d'),
};

/** The new ones: `afaf…`, `bfbf…`, `cfcf…`, `dfdf…`. */
export const NEW: Readonly<Record<CaTarget, Fingerprint>> = {
  talos: print('afaf'),
  kubernetes: print('bfbf'),
  etcd: print('cfcf'),
  'kubernetes-aggregator': print('dfdf'),
};

/** A fingerprint that repeats four digits, e.g. `eeee`. */
export function print(digits: string): Fingerprint {
  return digits.repeat(16) as Fingerprint;
}

/** A certificate of which only the fingerprint matters; valid for ten years around the tests' time. */
export function aCertificate(fingerprint: Fingerprint, overrides: Partial<Certificate> = {}): Certificate {
  return {
    pem: `-----BEGIN CERTIFICATE-----\n${fingerprint}\n-----END CERTIFICATE-----\n`,
    der: new Uint8Array(),
    fingerprint,
    publicKeyFingerprint: fingerprint,
    subject: 'O=test',
    issuer: 'O=test',
    serial: fingerprint.slice(0, 16),
    notBefore: Date.UTC(2021, 0, 1),
    notAfter: Date.UTC(2031, 0, 1),
    isCa: true,
    algorithm: 'ed25519',
    ...overrides,
  };
}

/** Old and new certificate authorities of the targets, as the record holds them. */
export function material(targets: readonly CaTarget[]): Partial<Record<CaTarget, TargetMaterial>> {
  return Object.fromEntries(
    targets.map((target) => [target, { old: aCertificate(OLD[target]), new: aCertificate(NEW[target]) }]),
  );
}
