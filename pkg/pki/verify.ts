import { X509Certificate } from 'node:crypto';
import type { Certificate } from './certificate.ts';
import { EXTENDED_KEY_USAGES, readX509, type X509Fields } from './x509-fields.ts';

/** Why a leaf is not trusted. */
export type VerifyReason =
  | 'no-roots'
  | 'unknown-issuer'
  | 'bad-signature'
  | 'issuer-not-a-ca'
  | 'expired'
  | 'not-yet-valid'
  | 'wrong-usage';

/** The verdict on one leaf. */
export type VerifyResult =
  | {
      readonly ok: true;
      /** The root that signed the leaf. */
      readonly root: Certificate;
      /** Set when some verifiers would still refuse: which, and why. */
      readonly caution?: string;
    }
  | { readonly ok: false; readonly reason: VerifyReason; readonly message: string };

/** Under which circumstances a leaf should be trusted. */
export interface VerifyOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly usage: 'client' | 'server';
  /** Tolerated on both ends of both validities, in milliseconds; 0 unless given. */
  readonly clockSkewMs?: number;
}

/**
 * Whether one of `roots` signed `leaf`, and both may be used now.
 *
 * During a rotation two roots share their subject, so names and key identifiers
 * only propose a root: every root of the issuer's name is tried, and the signature
 * alone decides. The order of the roots does not matter. Where the leaf's
 * authority key identifier contradicts the root that did sign it, Go accepts and
 * OpenSSL and Node refuse (measured): trusted, with a caution.
 */
export function verifyChain(leaf: Certificate, roots: readonly Certificate[], options: VerifyOptions): VerifyResult {
  if (roots.length === 0) return refuse('no-roots', leaf, 'there is no CA to trust');
  const fields = readX509(leaf.der);
  const candidates = roots.filter((root) => same(readX509(root.der).subject, fields.issuer));
  if (candidates.length === 0) {
    const known = [...new Set(roots.map((root) => name(root.subject)))].sort().join(', ');
    return refuse('unknown-issuer', leaf, `its issuer is ${name(leaf.issuer)}; trusted are ${known}`);
  }
  const parsed = new X509Certificate(leaf.der);
  const signers = candidates.filter((candidate) => signed(parsed, candidate));
  // A renewed CA stands there twice with one key: one of its certificates that may be used is enough.
  const verdicts = signers.map((root) => judge(leaf, root, { ...options, fields }));
  const best = verdicts.find(isPlain) ?? verdicts.find((verdict) => verdict.ok) ?? verdicts[0];
  if (best !== undefined) return best;
  const tried = candidates.map((candidate) => candidate.fingerprint).join(', ');
  return refuse('bad-signature', leaf, `no trusted CA named ${name(leaf.issuer)} signed it (tried ${tried})`);
}

function isPlain(verdict: VerifyResult): boolean {
  return verdict.ok && verdict.caution === undefined;
}

function judge(
  leaf: Certificate,
  root: Certificate,
  options: VerifyOptions & { readonly fields: X509Fields },
): VerifyResult {
  const rootFields = readX509(root.der);
  if (!root.isCa || !(rootFields.keyUsages?.includes('keyCertSign') ?? true)) {
    return refuse('issuer-not-a-ca', leaf, `${root.fingerprint} signed it but is not allowed to sign certificates`);
  }
  for (const [what, certificate] of [
    ['it', leaf],
    [`its CA ${root.fingerprint}`, root],
  ] as const) {
    const problem = timeProblem(certificate, options);
    if (problem) return refuse(problem.reason, leaf, `${what} ${problem.message}`);
  }
  for (const [what, { extendedKeyUsages }] of [
    ['it', options.fields],
    [`its CA ${root.fingerprint}`, rootFields],
  ] as const) {
    if (!allows(extendedKeyUsages, options.usage)) {
      return refuse('wrong-usage', leaf, `${what} is not for ${options.usage} authentication`);
    }
  }
  const { authorityKeyId } = options.fields;
  const { subjectKeyId } = rootFields;
  if (authorityKeyId === undefined || subjectKeyId === undefined || same(authorityKeyId, subjectKeyId))
    return { ok: true, root };
  const caution = `its authority key identifier is not that of its CA ${root.fingerprint}: Go accepts it, OpenSSL and Node refuse it`;
  return { ok: true, root, caution: `${title(leaf)}: ${caution}` };
}

function timeProblem(
  certificate: Certificate,
  { now, clockSkewMs = 0 }: VerifyOptions,
): { readonly reason: 'expired' | 'not-yet-valid'; readonly message: string } | undefined {
  const at = new Date(now).toISOString();
  if (now - clockSkewMs > certificate.notAfter) {
    return { reason: 'expired', message: `expired at ${new Date(certificate.notAfter).toISOString()}; it is ${at}` };
  }
  if (now + clockSkewMs < certificate.notBefore) {
    const from = new Date(certificate.notBefore).toISOString();
    return { reason: 'not-yet-valid', message: `is valid from ${from} only; it is ${at}` };
  }
  return undefined;
}

/** Whether an extended key usage list allows `usage`; no list allows everything (RFC 5280, 4.2.1.12). */
function allows(usages: readonly string[] | undefined, usage: 'client' | 'server'): boolean {
  return usages?.some((oid) => oid === EXTENDED_KEY_USAGES[usage] || oid === EXTENDED_KEY_USAGES.any) ?? true;
}

function signed(leaf: X509Certificate, root: Certificate): boolean {
  // A key of another algorithm than the signature's did not sign, which is no error.
  return leaf.verify(new X509Certificate(root.der).publicKey);
}

function refuse(reason: VerifyReason, leaf: Certificate, why: string): VerifyResult {
  return { ok: false, reason, message: `${title(leaf)} is not trusted: ${why}` };
}

function title(certificate: Certificate): string {
  return `certificate ${certificate.fingerprint} (${name(certificate.subject)})`;
}

function name(subject: string): string {
  return subject === '' ? 'an empty name' : subject;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
