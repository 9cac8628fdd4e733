import { createHash } from 'node:crypto';
import type {
  PEMEncodedCertificate,
  PEMEncodedCertificateAndKey,
  PEMEncodedKey,
} from '../../proto/generated/talos/common.ts';
import {
  type Certificate,
  type Fingerprint,
  keyFingerprint,
  parseCertificates,
  parsePrivateKey,
  parsePublicKeys,
} from '../pki/index.ts';

/**
 * A certificate (or a bundle) whose private key the machine holds. The key itself
 * is dropped when the resource is read; its public half is enough to say which
 * key it is.
 */
export interface CertificatesOfKey {
  /** In the order of the field; Talos signs with the first. */
  readonly certificates: readonly Certificate[];
  /** SHA-256 of the public half (SPKI); `undefined` where the machine has no key. Compare with `publicKeyFingerprint`. */
  readonly keyFingerprint: Fingerprint | undefined;
}

/** Reads a pair; `undefined` when the field is unset or empty, as on workers. */
export function readPair(pair: PEMEncodedCertificateAndKey | undefined, where: string): CertificatesOfKey | undefined {
  if (pair === undefined || (pair.crt.length === 0 && pair.key.length === 0)) return undefined;
  return {
    certificates: readBundle(pair.crt, where),
    keyFingerprint: pair.key.length === 0 ? undefined : publicKeyFingerprint(pair.key, where),
  };
}

/** Reads a certificate field that may hold several blocks; nothing when it is empty. */
export function readBundle(pem: Uint8Array | string, where: string): readonly Certificate[] {
  const text = typeof pem === 'string' ? pem : Buffer.from(pem).toString('utf8');
  return text.trim() === '' ? [] : parseCertificates(text, where);
}

/** Reads a list of accepted CAs, in its order. */
export function readAccepted(accepted: readonly PEMEncodedCertificate[], where: string): readonly Certificate[] {
  return accepted.flatMap((entry, index) => readBundle(entry.crt, `${where}[${index}]`));
}

/** Fingerprint of the public half of a private or public key field; `undefined` when it is unset. */
export function readKeyFingerprint(key: PEMEncodedKey | undefined, where: string): Fingerprint | undefined {
  return key === undefined || key.key.length === 0 ? undefined : publicKeyFingerprint(key.key, where);
}

/**
 * SHA-256 of the SubjectPublicKeyInfo of one key in PEM, private or public, under
 * any label that Talos writes.
 *
 * @throws PkiError that names the field, never its content
 */
export function publicKeyFingerprint(pem: Uint8Array, where: string): Fingerprint {
  const digest = sha256(pem);
  const known = keys.get(digest);
  if (known !== undefined) return known;
  const fingerprint = decodedFingerprint(pem, where);
  const [oldest] = keys.keys();
  if (keys.size >= MOST_KEYS && oldest !== undefined) keys.delete(oldest);
  keys.set(digest, fingerprint);
  return fingerprint;
}

/** Keys that were decoded before, by the digest of their text: a machine shows the same ones at every look. */
const keys = new Map<Fingerprint, Fingerprint>();

/** As many as some hundred clusters have; the oldest is forgotten. */
const MOST_KEYS = 10_000;

function decodedFingerprint(pem: Uint8Array, where: string): Fingerprint {
  const text = Buffer.from(pem).toString('utf8');
  if (text.includes('PRIVATE KEY')) return keyFingerprint(parsePrivateKey(text, where));
  const [key] = parsePublicKeys(text, where);
  if (key === undefined) throw new Error(`${where} holds no key`);
  return key.fingerprint;
}

/** Lower-case hex SHA-256. */
export function sha256(bytes: Uint8Array): Fingerprint {
  return createHash('sha256').update(bytes).digest('hex') as Fingerprint;
}

/** Text of an address as Go's netip writes it to the wire: 4 or 16 bytes, the latter perhaps with a zone. */
export function readAddress(ip: Uint8Array): string {
  if (ip.length === 4) return ip.join('.');
  if (ip.length < 16) return '';
  const groups = Array.from({ length: 8 }, (_, index) => ((ip[2 * index] ?? 0) << 8) | (ip[2 * index + 1] ?? 0));
  const zone = Buffer.from(ip.subarray(16)).toString('utf8');
  return compressIpv6(groups) + (zone === '' ? '' : `%${zone}`);
}

function compressIpv6(groups: readonly number[]): string {
  const text = groups.map((group) => group.toString(16)).join(':');
  const zeroRuns = [...text.matchAll(/(?<![0-9a-f])0(?::0(?![0-9a-f]))+/g)].map((match) => match[0]);
  const longest = zeroRuns.sort((a, b) => b.length - a.length)[0];
  if (longest === undefined) return text;
  const at = text.search(new RegExp(`(?<![0-9a-f])${longest}(?![0-9a-f])`));
  const before = text.slice(0, at).replace(/:$/, '');
  const after = text.slice(at + longest.length).replace(/^:/, '');
  return `${before}::${after}`;
}
