import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import { type BundleDocument, bundleFromParts } from '../../pkg/bundle/index.ts';
import {
  type Certificate,
  type CertificateAndKey,
  createCa,
  createServiceAccountKey,
  type Fingerprint,
  issueLeaf,
  keyFingerprint,
  type LeafProfile,
  Secret,
  verifyChain,
} from '../../pkg/pki/index.ts';
import type { CertificatesOfKey } from '../../pkg/talos/index.ts';
import type { Issuer } from './issuer.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** When every simulated world begins: 2026-11-05T12:00:00Z. */
export const WORLD_START = Date.UTC(2026, 10, 5, 12);

const DAY_MS = 86_400_000;

/**
 * Real certificate authorities and leaves, made once and shared by every world of
 * a process: signing is what a world would spend nearly all its time with. Leaves
 * are kept by CA and subject. Nothing that a world hashes depends on their bytes.
 */
export interface Mint extends Issuer {
  /** Generation 0 is what clusters are born with; the others are the CAs of their rotations. */
  ca(target: CaTarget, generation: number): CertificateAndKey;
  /** One leaf of a CA for servers and clients alike, whoever holds it. */
  pair(ca: Fingerprint): CertificatesOfKey;
  /** The same leaf with its key. */
  leaf(ca: Fingerprint): CertificateAndKey;
  /** Like `issueLeaf`, from the stock. */
  issue(ca: CertificateAndKey, profile: LeafProfile, clock: VirtualClock): Promise<CertificateAndKey>;
  /** Who signed a certificate, of the CAs that were made here. */
  issuerOf(certificate: Certificate): Fingerprint | undefined;
  /** The document of the bundle that clusters are born with; it never changes. */
  bundle(): BundleDocument;
}

/** Makes the stock: `generations` of every CA. */
export async function createMint(generations = 3): Promise<Mint> {
  const cas = new Map<CaTarget, CertificateAndKey[]>();
  const leaves = new Map<Fingerprint, CertificateAndKey>();
  const pairs = new Map<Fingerprint, CertificatesOfKey>();
  const issuers = new Map<Fingerprint, Fingerprint>();
  const stock = new Map<string, Promise<CertificateAndKey>>();
  for (const target of CA_TARGETS) {
    for (let generation = 0; generation < generations; generation += 1) {
      const ca = await createCa(target, { now: WORLD_START, backdateMs: DAY_MS });
      cas.set(target, [...(cas.get(target) ?? []), ca]);
      const subject = { cn: `simulated ${target}` };
      const leaf = await issueLeaf(ca, {
        subject,
        usages: ['server', 'client'],
        now: WORLD_START,
        validityMs: 3_000 * DAY_MS,
      });
      const { fingerprint } = ca.certificate;
      leaves.set(fingerprint, leaf);
      pairs.set(fingerprint, { certificates: [leaf.certificate], keyFingerprint: keyFingerprint(leaf.key) });
      issuers.set(leaf.certificate.fingerprint, fingerprint);
      issuers.set(fingerprint, fingerprint);
    }
  }
  const roots = [...cas.values()].flat().map((ca) => ca.certificate);
  const serviceAccount = await createServiceAccountKey({ algorithm: 'ecdsa-p256' });
  const caOf = (target: CaTarget, generation: number) => found(cas.get(target)?.[generation], target);
  const parts = {
    clusterId: Buffer.alloc(32, 1).toString('base64'),
    clusterSecret: Secret.of('cluster-secret', Buffer.alloc(32, 2).toString('base64')),
    bootstrapToken: Secret.of('token', 'abcdef.0123456789abcdef'),
    trustdToken: Secret.of('token', 'fedcba.fedcba9876543210'),
    secretboxEncryptionSecret: Secret.of('encryption-key', Buffer.alloc(32, 3).toString('base64')),
    talos: caOf('talos', 0),
    kubernetes: caOf('kubernetes', 0),
    etcd: caOf('etcd', 0),
    aggregator: caOf('kubernetes-aggregator', 0),
    serviceAccount,
  };
  const document = bundleFromParts(parts, { path: 'secrets.yaml' });

  return {
    ca: caOf,
    pair: (ca) => found(pairs.get(ca), 'leaf'),
    leaf: (ca) => found(leaves.get(ca), 'leaf'),
    async issue(ca, profile, clock) {
      const key = JSON.stringify([ca.certificate.fingerprint, profile.subject, profile.usages]);
      const kept = stock.get(key);
      if (kept !== undefined) return kept;
      const made = issueLeaf(ca, { ...profile, now: WORLD_START, validityMs: 3_000 * DAY_MS });
      stock.set(key, made);
      const leaf = await clock.hold(made);
      issuers.set(leaf.certificate.fingerprint, ca.certificate.fingerprint);
      return leaf;
    },
    issuerOf(certificate) {
      const known = issuers.get(certificate.fingerprint);
      if (known !== undefined) return known;
      const result = verifyChain(certificate, roots, { now: certificate.notBefore, usage: 'client' });
      return result.ok ? result.root.fingerprint : undefined;
    },
    bundle: () => document,
  };
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the mint has no such ${what}`);
  return value;
}
