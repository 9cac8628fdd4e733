import { hash, type KeyObject, X509Certificate } from 'node:crypto';
import { PkiError } from './errors.ts';
import { type PemBlock, scanPem, writePemBlock } from './pem.ts';
import { remembered } from './remember.ts';
import type { PrivateKeyPem } from './secret.ts';
import { readX509 } from './x509-fields.ts';

/** A SHA-256 digest in lower-case hexadecimal. */
export type Fingerprint = string & { readonly __brand: 'Fingerprint' };

/** The key algorithms that Ichor creates and accepts. */
export type KeyAlgorithm =
  | 'ed25519'
  | 'ecdsa-p256'
  | 'ecdsa-p384'
  | 'ecdsa-p521'
  | 'rsa-2048'
  | 'rsa-3072'
  | 'rsa-4096';

/** A certificate's key algorithm; what is none of ours is named after `other:`, such as `other:rsa-1024`. */
export type CertificateAlgorithm = KeyAlgorithm | `other:${string}`;

/** One X.509 certificate, read once; a plain value. */
export interface Certificate {
  /** One block, as it was written, with LF line ends, ending in a newline. */
  readonly pem: string;
  readonly der: Uint8Array;
  /** SHA-256 of `der`. */
  readonly fingerprint: Fingerprint;
  /** SHA-256 of the SubjectPublicKeyInfo: the same for two certificates of one key. */
  readonly publicKeyFingerprint: Fingerprint;
  /** Such as `O=talos` or `O=system:masters, CN=admin`; empty for Talos's aggregator CA. */
  readonly subject: string;
  readonly issuer: string;
  /** Lower-case hexadecimal, two digits an octet, no sign octet. */
  readonly serial: string;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** Whether the basic constraints say CA. */
  readonly isCa: boolean;
  readonly algorithm: CertificateAlgorithm;
}

/** A certificate with the private key that belongs to it. */
export interface CertificateAndKey {
  readonly certificate: Certificate;
  readonly key: PrivateKeyPem;
}

/**
 * Something in a bundle that does not belong there: text that is no sound PEM
 * (`broken`), a block of another label, a block whose bytes are no certificate
 * (`unreadable`), one that was there before. `line` is 1-based.
 */
export interface BundleProblem {
  readonly kind: 'broken' | 'foreign' | 'unreadable' | 'duplicate' | 'empty';
  readonly line: number;
  readonly message: string;
}

/** What a bundle holds, and what is wrong with it. */
export interface BundleScan {
  /** Every readable certificate, in order, duplicates included. */
  readonly certificates: readonly Certificate[];
  /** In the order of their lines. */
  readonly problems: readonly BundleProblem[];
}

/**
 * Reads exactly one certificate.
 *
 * @param where the file or field, for the error.
 * @throws {PkiError} `invalid-pem` or `invalid-certificate`.
 */
export function parseCertificate(pem: string, where?: string): Certificate {
  const certificates = parseCertificates(pem, where);
  const [first, second] = certificates;
  if (first === undefined || second !== undefined) {
    throw new PkiError('invalid-certificate', `expected exactly one certificate, found ${certificates.length}`, {
      where,
    });
  }
  return first;
}

/**
 * Reads a bundle of one or more certificates strictly: order kept; a duplicate, a
 * block of another kind, garbage and an empty text are refused.
 *
 * @param where the file or field, for the error.
 * @throws {PkiError} `invalid-pem` or `invalid-certificate`, naming every problem with its line.
 */
export function parseCertificates(pem: string, where?: string): Certificate[] {
  const { certificates, problems } = scanCertificates(pem);
  const first = problems[0];
  if (first) {
    const rest = problems.slice(1).map((problem) => `; line ${problem.line}: ${problem.message}`);
    const kind = first.kind === 'broken' ? 'invalid-pem' : 'invalid-certificate';
    throw new PkiError(kind, first.message + rest.join(''), { where, line: first.line });
  }
  return [...certificates];
}

/**
 * Reads what can be read of a bundle and lists what is wrong with it: for showing
 * what a running machine trusts. Go's readers lose broken blocks silently, so a
 * bundle with `broken` or `unreadable` problems trusts less than it seems to.
 */
export function scanCertificates(pem: string): BundleScan {
  // What is remembered outlives its caller: a text that holds a key is read anew.
  return pem.includes('PRIVATE KEY') ? scanBundle(pem) : scanned(pem);
}

const scanned = remembered(scanBundle);

function scanBundle(pem: string): BundleScan {
  const scan = scanPem(pem);
  const problems: BundleProblem[] = scan.problems.map((problem) => ({ kind: 'broken', ...problem }));
  const certificates: Certificate[] = [];
  const lines = new Map<Fingerprint, number>();
  for (const block of scan.blocks) {
    const read = readBlock(block);
    if ('message' in read) {
      problems.push(read);
      continue;
    }
    const earlier = lines.get(read.fingerprint);
    if (earlier !== undefined) {
      const message = `certificate ${read.fingerprint} is a duplicate of the one at line ${earlier}`;
      problems.push({ kind: 'duplicate', line: block.line, message });
    } else {
      lines.set(read.fingerprint, block.line);
    }
    certificates.push(read);
  }
  if (certificates.length === 0 && problems.length === 0) {
    problems.push({ kind: 'empty', line: 1, message: 'expected at least one certificate, found none' });
  }
  return { certificates, problems: problems.sort((a, b) => a.line - b.line) };
}

/** Writes a bundle in the given order, each block as it was read, a newline after every block. */
export function writeCertificates(certificates: readonly Certificate[]): string {
  return certificates.map((certificate) => certificate.pem).join('');
}

/**
 * Reads one certificate from its DER.
 *
 * @param pem its text, where it was read from one; else it is written afresh.
 * @throws {PkiError} `invalid-certificate`.
 */
export function certificateFromDer(der: Uint8Array, pem = writePemBlock('CERTIFICATE', der)): Certificate {
  const { x509, fields, publicKey } = decode(der);
  return {
    pem,
    der,
    fingerprint: sha256(der),
    publicKeyFingerprint: sha256(fields.publicKeyInfo),
    subject: oneLine(x509.subject),
    issuer: oneLine(x509.issuer),
    serial: x509.serialNumber.toLowerCase(),
    notBefore: x509.validFromDate.getTime(),
    notAfter: x509.validToDate.getTime(),
    isCa: fields.basicConstraints?.isCa ?? false,
    algorithm: algorithmOf(publicKey),
  };
}

/** The algorithm of a public or private key, in our names. */
export function algorithmOf(key: KeyObject): CertificateAlgorithm {
  const type = key.asymmetricKeyType ?? 'unknown';
  const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
  if (type === 'ed25519') return 'ed25519';
  if (type === 'ec') return CURVES[namedCurve ?? ''] ?? `other:${namedCurve ?? 'ec'}`;
  if (type === 'rsa') return RSA_SIZES[modulusLength ?? 0] ?? `other:rsa-${modulusLength ?? 0}`;
  return `other:${type}`;
}

/** SHA-256 of `bytes` as a {@link Fingerprint}. */
export function sha256(bytes: Uint8Array): Fingerprint {
  return hash('sha256', bytes, 'hex') as Fingerprint;
}

const CURVES: Readonly<Record<string, KeyAlgorithm>> = {
  prime256v1: 'ecdsa-p256',
  secp384r1: 'ecdsa-p384',
  secp521r1: 'ecdsa-p521',
};

const RSA_SIZES: Readonly<Record<number, KeyAlgorithm>> = { 2048: 'rsa-2048', 3072: 'rsa-3072', 4096: 'rsa-4096' };

function decode(der: Uint8Array) {
  try {
    // Node reads the meaning; our own reader insists on strict DER with nothing behind it, as Go does.
    const fields = readX509(der);
    const x509 = new X509Certificate(der);
    return { x509, fields, publicKey: x509.publicKey };
  } catch (cause) {
    throw new PkiError('invalid-certificate', `the bytes are no X.509 certificate: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function readBlock(block: PemBlock): Certificate | BundleProblem {
  if (block.label !== 'CERTIFICATE') {
    return { kind: 'foreign', line: block.line, message: `expected a CERTIFICATE block, found ${block.label}` };
  }
  try {
    return certificateFromDer(block.bytes, block.text);
  } catch (cause) {
    return { kind: 'unreadable', line: block.line, message: (cause as Error).message };
  }
}

/** Node prints one attribute a line, and `undefined` for an empty name. */
function oneLine(name: string | undefined): string {
  return (name ?? '').split('\n').join(', ');
}
