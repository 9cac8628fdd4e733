import { randomBytes } from 'node:crypto';
import type { CertificateAndKey, KeyAlgorithm } from './certificate.ts';
import { generatePrivateKey, writePrivateKey } from './private-key.ts';
import { confirmRsa } from './rsa-second-reader.ts';
import { type NameParts, signCertificate } from './sign.ts';

/** The certificate authorities of a Talos cluster. */
export type CaTarget = 'talos' | 'kubernetes' | 'etcd' | 'kubernetes-aggregator';

/** How to create a CA; everything but the time has Talos's own default. */
export interface CreateCaOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** 87,600 hours (ten years) unless given. */
  readonly validityMs?: number;
  /** Ed25519 for Talos, ECDSA P-256 for the others unless given. */
  readonly algorithm?: KeyAlgorithm;
  /**
   * How long before `now` the validity begins; 0 unless given, as Talos does. With a
   * few minutes, machines whose clock is a little behind accept the CA at once.
   */
  readonly backdateMs?: number;
  /** Serial number and subject key identifier; the system's generator unless given. */
  readonly random?: (bytes: number) => Uint8Array;
}

const HOUR_MS = 3_600_000;

/** What a CA of each target looks like when Talos 1.9 to 1.14 makes it; the aggregator's subject is empty. */
const PROFILES: Readonly<Record<CaTarget, { readonly subject: NameParts; readonly algorithm: KeyAlgorithm }>> = {
  talos: { subject: { o: ['talos'] }, algorithm: 'ed25519' },
  kubernetes: { subject: { o: ['kubernetes'] }, algorithm: 'ecdsa-p256' },
  etcd: { subject: { o: ['etcd'] }, algorithm: 'ecdsa-p256' },
  'kubernetes-aggregator': { subject: {}, algorithm: 'ecdsa-p256' },
};

/**
 * Creates a self-signed CA in the profile of `talosctl gen secrets`: a subject of
 * one organization (none for the aggregator), a random serial number below 2^128,
 * a *random* subject key identifier of 20 octets and no authority key identifier,
 * digitalSignature and keyCertSign, server and client authentication.
 */
export async function createCa(target: CaTarget, options: CreateCaOptions): Promise<CertificateAndKey> {
  const { now, validityMs = 87_600 * HOUR_MS, backdateMs = 0, random = randomBytes } = options;
  const profile = PROFILES[target];
  const algorithm = options.algorithm ?? profile.algorithm;
  const key = await generatePrivateKey(algorithm);
  const notBefore = now - backdateMs;
  const certificate = await signCertificate(
    {
      subject: profile.subject,
      issuer: profile.subject,
      serial: random(16),
      notBefore,
      notAfter: notBefore + validityMs,
      keyUsages: ['digitalSignature', 'keyCertSign'],
      extendedKeyUsages: ['server', 'client'],
      isCa: true,
      subjectKeyId: random(20),
    },
    { subject: key, issuer: key, digest: digestFor(algorithm) },
  );
  const ca = { certificate, key: writePrivateKey(key) };
  await confirmRsa(ca);
  return ca;
}

function digestFor(algorithm: KeyAlgorithm): 'SHA-256' | 'SHA-384' | 'SHA-512' {
  if (algorithm === 'ecdsa-p384') return 'SHA-384';
  return algorithm === 'ecdsa-p521' ? 'SHA-512' : 'SHA-256';
}
