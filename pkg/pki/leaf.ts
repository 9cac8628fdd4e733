import { type KeyObject, randomBytes } from 'node:crypto';
import type { Certificate, CertificateAndKey, KeyAlgorithm } from './certificate.ts';
import { PkiError } from './errors.ts';
import { lintCa } from './lint.ts';
import { generatePrivateKey, keyAlgorithm, keyObjectOf, writePrivateKey } from './private-key.ts';
import { readRequest } from './request.ts';
import { type NameParts, signCertificate } from './sign.ts';
import { type KeyUsageName, readX509 } from './x509-fields.ts';

/** What a leaf says and how long. */
export interface LeafProfile {
  readonly subject: NameParts;
  readonly usages: readonly ('client' | 'server')[];
  /** `digitalSignature` unless given, as in Talos. */
  readonly keyUsages?: readonly KeyUsageName[];
  readonly ips?: readonly string[];
  readonly dns?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** From `now` on; 24 hours unless given, never beyond the CA's own end. */
  readonly validityMs?: number;
  /**
   * How long before `now` the validity begins: 5 minutes unless given for a client
   * certificate, 0 for others. Machines whose clock is behind refuse a certificate
   * that begins this very second (siderolabs/talos#6462).
   */
  readonly backdateMs?: number;
  /** Sign with a CA that {@link lintCa} refuses as well: for a certificate that is made to be refused. */
  readonly anySigner?: boolean;
  /** The serial number; the system's generator unless given. */
  readonly random?: (bytes: number) => Uint8Array;
}

const HOUR_MS = 3_600_000;

/**
 * Issues a leaf as Talos does: a new key in the CA's algorithm (P-256 under every
 * ECDSA CA), the authority key identifier copied from the CA, no subject key
 * identifier, no basic constraints.
 *
 * @throws {PkiError} `refused` when {@link lintCa} finds anything wrong with the CA, unless any may sign; nothing is
 *   signed then.
 */
export async function issueLeaf(ca: CertificateAndKey, profile: LeafProfile): Promise<CertificateAndKey> {
  if (profile.anySigner !== true) checkSigner(ca, profile.now);
  const key = await generatePrivateKey(leafAlgorithm(ca));
  return { certificate: await certify(ca, profile, key), key: writePrivateKey(key) };
}

/**
 * Issues a server certificate for a signing request (PKCS #10) as Talos's trustd
 * does for workers: common name and names of the request, its key, no organization,
 * `digitalSignature`, server authentication.
 *
 * @throws {PkiError} `refused` as {@link issueLeaf}, and for a request whose signature is not by its own key;
 *   `invalid-certificate` for what is no request
 */
export async function signRequest(
  ca: CertificateAndKey,
  request: string,
  options: Pick<LeafProfile, 'now' | 'validityMs'>,
): Promise<Certificate> {
  checkSigner(ca, options.now);
  const { commonName, publicKey, dns, ips } = await readRequest(request);
  return certify(ca, { ...options, subject: { cn: commonName }, usages: ['server'], dns, ips }, publicKey);
}

function checkSigner(ca: CertificateAndKey, now: number): void {
  const problems = lintCa(ca, { now, name: 'the signing CA' });
  if (problems.length === 0) return;
  throw new PkiError('refused', `nothing was signed: ${problems.map((problem) => problem.message).join('; ')}`);
}

function certify(ca: CertificateAndKey, profile: LeafProfile, key: KeyObject): Promise<Certificate> {
  const { now, subject, usages, dns, ips, random = randomBytes } = profile;
  const issuer = readX509(ca.certificate.der);
  const backdateMs = profile.backdateMs ?? (usages.includes('client') ? 5 * 60_000 : 0);
  return signCertificate(
    {
      subject,
      issuer: issuer.subject,
      serial: random(16),
      notBefore: now - backdateMs,
      notAfter: Math.min(now + (profile.validityMs ?? 24 * HOUR_MS), ca.certificate.notAfter),
      keyUsages: profile.keyUsages ?? ['digitalSignature'],
      extendedKeyUsages: usages,
      isCa: false,
      authorityKeyId: issuer.subjectKeyId,
      dns,
      ips,
    },
    { subject: key, issuer: keyObjectOf(ca.key), digest: 'SHA-256' },
  );
}

/** The administrator's certificate in a talosconfig: `O=` one or more roles, no name, a year. */
export function talosAdminProfile(options: { readonly now: number; readonly roles?: readonly string[] }): LeafProfile {
  const subject = { o: options.roles ?? ['os:admin'] };
  return { subject, usages: ['client'], validityMs: 8_760 * HOUR_MS, now: options.now };
}

/** The certificate in the kubeconfig that `talosctl kubeconfig` gives. */
export function kubernetesAdminProfile(options: { readonly now: number; readonly validityMs?: number }): LeafProfile {
  return {
    subject: { o: ['system:masters'], cn: 'admin' },
    usages: ['client'],
    keyUsages: ['digitalSignature', 'keyEncipherment'],
    validityMs: options.validityMs ?? 8_760 * HOUR_MS,
    now: options.now,
  };
}

/** A client of etcd; Talos calls its own `talos`, the API server's `kube-apiserver`. */
export function etcdClientProfile(options: { readonly now: number; readonly cn?: string }): LeafProfile {
  return clientProfile(options.cn ?? 'talos', options.now);
}

/** The certificate with which the API server calls aggregated API servers. */
export function frontProxyClientProfile(options: { readonly now: number }): LeafProfile {
  return clientProfile('front-proxy-client', options.now);
}

/**
 * A certificate that only proves which CA somebody trusts: valid for an hour and,
 * having no organization, without rights in Talos and in Kubernetes. etcd asks for
 * no more than its CA: there it opens everything, so keep its key in memory only.
 */
export function probeProfile(options: { readonly now: number; readonly usage: 'client' | 'server' }): LeafProfile {
  return { subject: { cn: 'ichor-probe' }, usages: [options.usage], validityMs: HOUR_MS, now: options.now };
}

function clientProfile(cn: string, now: number): LeafProfile {
  return { subject: { cn }, usages: ['client'], keyUsages: ['digitalSignature', 'keyEncipherment'], now };
}

function leafAlgorithm(ca: CertificateAndKey): KeyAlgorithm {
  const algorithm = keyAlgorithm(ca.key);
  if (algorithm === 'ed25519') return 'ed25519';
  return algorithm.startsWith('rsa-') ? 'rsa-4096' : 'ecdsa-p256';
}
