import { X509Certificate } from 'node:crypto';
import type { Certificate, CertificateAndKey, KeyAlgorithm } from './certificate.ts';
import { keyFits } from './private-key.ts';
import { EXTENDED_KEY_USAGES, EXTENSIONS, readX509, type X509Fields } from './x509-fields.ts';

/** What a certificate can break. */
export type LintRule =
  | 'key-mismatch'
  | 'not-a-ca'
  | 'path-length'
  | 'expired'
  | 'not-yet-valid'
  | 'key-usage'
  | 'extended-key-usage'
  | 'algorithm'
  | 'self-signed'
  | 'serial'
  | 'critical-extension'
  | 'same-key'
  | 'same-serial'
  | 'same-certificate'
  | 'key-identifier';

/** One reason not to sign with, or hand on, a CA. */
export interface LintProblem {
  /** The certificate's name in the caller's words with its fingerprint. */
  readonly certificate: string;
  readonly rule: LintRule;
  /** A sentence that names the certificate, what was found and what was expected. */
  readonly message: string;
}

/** How strictly to look at a CA. */
export interface LintCaOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Such as `the new etcd CA`. */
  readonly name: string;
  /** Tolerated when a validity has not begun yet; 5 minutes unless given. An end is never stretched. */
  readonly clockSkewMs?: number;
  /** All of ours unless given. */
  readonly algorithms?: readonly KeyAlgorithm[];
}

/** The signature algorithms after which Talos can issue leaves (siderolabs/crypto, x509/keypair.go). */
const SIGNATURES: Readonly<Record<string, string>> = {
  '1.3.101.112': 'Ed25519',
  '1.2.840.10045.4.3.2': 'ECDSA with SHA-256',
  '1.2.840.10045.4.3.3': 'ECDSA with SHA-384',
  '1.2.840.10045.4.3.4': 'ECDSA with SHA-512',
  '1.2.840.113549.1.1.11': 'RSA with SHA-256',
  '1.2.840.113549.1.1.12': 'RSA with SHA-384',
  '1.2.840.113549.1.1.13': 'RSA with SHA-512',
};

/** Extensions that every verifier in a cluster knows; any other one must not be critical. */
const KNOWN_EXTENSIONS = new Set<string>(Object.values(EXTENSIONS));

const DEFAULT_SKEW_MS = 5 * 60_000;

interface Subject {
  readonly certificate: Certificate;
  readonly fields: X509Fields;
  readonly options: LintCaOptions;
}

type Check = (subject: Subject) => string | undefined;

/** Each rule about the certificate alone: what is wrong, or nothing. */
const CHECKS: readonly (readonly [LintRule, Check])[] = [
  [
    'not-a-ca',
    ({ certificate }) => (certificate.isCa ? undefined : 'is not a CA: its basic constraints do not say so'),
  ],
  ['path-length', checkPathLength],
  ['expired', checkEnd],
  ['not-yet-valid', checkBeginning],
  ['key-usage', checkKeyUsage],
  ['extended-key-usage', checkExtendedKeyUsage],
  ['algorithm', checkAlgorithm],
  ['self-signed', checkSelfSigned],
  ['serial', checkSerial],
  ['critical-extension', checkCriticalExtensions],
];

/**
 * Everything that speaks against signing with `ca`, in the order of the rules; empty when it is sound.
 *
 * A CA without its key is looked at as a certificate only.
 */
export function lintCa(
  ca: CertificateAndKey | { readonly certificate: Certificate; readonly key?: undefined },
  options: LintCaOptions,
): LintProblem[] {
  const { certificate } = ca;
  const subject = { certificate, fields: fieldsOf(certificate), options };
  const problems = CHECKS.flatMap(([rule, check]) => {
    const found = check(subject);
    return found === undefined ? [] : [problem(options.name, certificate, rule, found)];
  });
  if (ca.key !== undefined && !keyFits(certificate, ca.key)) {
    problems.unshift(
      problem(options.name, certificate, 'key-mismatch', 'does not belong to the private key beside it'),
    );
  }
  return problems;
}

/** The fields of a certificate, read once. @throws {RangeError} as `readX509` */
export function fieldsOf(certificate: Certificate): X509Fields {
  const known = fields.get(certificate);
  if (known !== undefined) return known;
  const read = readX509(certificate.der);
  fields.set(certificate, read);
  return read;
}

/** As below: a running rotation is linted once a minute. */
const fields = new WeakMap<Certificate, X509Fields>();

/** The sentence of one problem, the certificate named first. */
export function problem(name: string, certificate: Certificate, rule: LintRule, found: string): LintProblem {
  const title = `${name} (${certificate.fingerprint})`;
  return { certificate: title, rule, message: `${title} ${found}` };
}

function checkPathLength({ fields }: Subject): string | undefined {
  const length = fields.basicConstraints?.pathLength;
  // Zero still allows leaves, and a CA of a cluster signs leaves only; more is harmless.
  if (length === undefined || fields.basicConstraints?.isCa) return undefined;
  return `states a path length of ${length} without being a CA`;
}

function checkEnd({ certificate, options }: Subject): string | undefined {
  if (certificate.notAfter > options.now) return undefined;
  return `expired at ${iso(certificate.notAfter)}; it is ${iso(options.now)}`;
}

function checkBeginning({ certificate, options }: Subject): string | undefined {
  const skew = options.clockSkewMs ?? DEFAULT_SKEW_MS;
  if (certificate.notBefore <= options.now + skew) return undefined;
  return `is valid from ${iso(certificate.notBefore)} only; it is ${iso(options.now)}, a skew of ${skew / 1000} s allowed`;
}

function checkKeyUsage({ fields }: Subject): string | undefined {
  if (fields.keyUsages === undefined || fields.keyUsages.includes('keyCertSign')) return undefined;
  return `may not sign certificates: its key usages are ${list(fields.keyUsages)}, keyCertSign is missing`;
}

function checkExtendedKeyUsage({ fields }: Subject): string | undefined {
  const usages = fields.extendedKeyUsages;
  if (usages === undefined || usages.includes(EXTENDED_KEY_USAGES.any)) return undefined;
  const missing = (['server', 'client'] as const).filter((usage) => !usages.includes(EXTENDED_KEY_USAGES[usage]));
  if (missing.length === 0) return undefined;
  return `may not sign for ${missing.join(' and ')} authentication: its extended key usages are ${list(usages)}`;
}

function checkAlgorithm({ certificate, fields, options }: Subject): string | undefined {
  const allowed: readonly string[] = options.algorithms ?? DEFAULT_ALGORITHMS;
  if (!allowed.includes(certificate.algorithm)) {
    return `has a key of algorithm ${certificate.algorithm}; allowed are ${allowed.join(', ')}`;
  }
  if (SIGNATURES[fields.signatureAlgorithm] !== undefined) return undefined;
  const known = Object.values(SIGNATURES).join(', ');
  return `is signed with algorithm ${fields.signatureAlgorithm}, after which Talos cannot issue; allowed are ${known}`;
}

function checkSelfSigned({ certificate, fields }: Subject): string | undefined {
  if (Buffer.compare(fields.subject, fields.issuer) !== 0) {
    // Go takes any certificate as a root; OpenSSL, Node and Python refuse one that another CA signed (measured).
    return `is not a root: its issuer is ${certificate.issuer === '' ? 'an empty name' : certificate.issuer}`;
  }
  return isSelfSigned(certificate) ? undefined : 'is not signed by its own key';
}

function isSelfSigned(certificate: Certificate): boolean {
  const known = selfSigned.get(certificate);
  if (known !== undefined) return known;
  const x509 = new X509Certificate(certificate.der);
  const verdict = x509.verify(x509.publicKey);
  selfSigned.set(certificate, verdict);
  return verdict;
}

/** A running rotation is linted once a minute; a signature is verified once, and forgotten with its certificate. */
const selfSigned = new WeakMap<Certificate, boolean>();

function checkSerial({ fields }: Subject): string | undefined {
  if ((fields.serial[0] ?? 0) >= 0x80) return 'has a negative serial number, which Go refuses';
  const digits = fields.serial[0] === 0 ? fields.serial.length - 1 : fields.serial.length;
  return digits > 20 ? `has a serial number of ${digits} octets; X.509 allows 20` : undefined;
}

function checkCriticalExtensions({ fields }: Subject): string | undefined {
  const strange = fields.extensions.filter(({ oid, critical }) => critical && !KNOWN_EXTENSIONS.has(oid));
  if (strange.length === 0) return undefined;
  return `has critical extensions that not every verifier knows: ${strange.map(({ oid }) => oid).join(', ')}`;
}

const DEFAULT_ALGORITHMS: readonly KeyAlgorithm[] = [
  'ed25519',
  'ecdsa-p256',
  'ecdsa-p384',
  'ecdsa-p521',
  'rsa-2048',
  'rsa-3072',
  'rsa-4096',
];

function list(items: readonly string[]): string {
  return items.length === 0 ? 'none' : items.join(', ');
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
