import { createPublicKey, type KeyObject, webcrypto } from 'node:crypto';
import { algorithmOf, type Certificate, certificateFromDer } from './certificate.ts';
import { PkiError } from './errors.ts';
import { EXTENDED_KEY_USAGES, KEY_USAGES, type KeyUsageName } from './x509-fields.ts';

/** The attributes of a Name that Talos's certificates carry; each list is one RDN, as Go writes it. */
export interface NameParts {
  readonly o?: readonly string[] | undefined;
  readonly cn?: string | undefined;
}

/** Everything in a certificate but its keys. A Name given as bytes is its whole DER. */
export interface CertificateTemplate {
  readonly subject: NameParts;
  readonly issuer: NameParts | Uint8Array;
  readonly serial: Uint8Array;
  /** Milliseconds since the epoch; X.509 holds whole seconds. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly keyUsages: readonly KeyUsageName[];
  readonly extendedKeyUsages: readonly ('server' | 'client')[];
  readonly isCa: boolean;
  readonly subjectKeyId?: Uint8Array | undefined;
  readonly authorityKeyId?: Uint8Array | undefined;
  readonly dns?: readonly string[] | undefined;
  readonly ips?: readonly string[] | undefined;
}

/** The two keys of a signature: whose certificate it is, and whose signature. */
export interface SigningKeys {
  /** The subject's private (or public) key; only its public half is written. */
  readonly subject: KeyObject;
  readonly issuer: KeyObject;
  /** The signature's digest for ECDSA; Ed25519 has its own, RSA always takes SHA-512 as Talos does. */
  readonly digest: 'SHA-256' | 'SHA-384' | 'SHA-512';
}

/**
 * Writes and signs a certificate, extensions in the order of Go's writer.
 *
 * @throws {PkiError} `unsupported` for a signing key of an algorithm that Ichor does not use.
 */
export async function signCertificate(template: CertificateTemplate, keys: SigningKeys): Promise<Certificate> {
  const algorithm = signingAlgorithm(keys);
  const x509 = await loadX509();
  const pkcs8 = keys.issuer.export({ type: 'pkcs8', format: 'der' });
  const signed = await x509.X509CertificateGenerator.create({
    subject: nameOf(x509, template.subject),
    issuer: nameOf(x509, template.issuer),
    serialNumber: hex(template.serial),
    notBefore: wholeSeconds(template.notBefore),
    notAfter: wholeSeconds(template.notAfter),
    publicKey: publicKeyInfo(keys.subject),
    signingKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
    signingAlgorithm: algorithm,
    extensions: extensionsOf(x509, template),
  });
  return certificateFromDer(new Uint8Array(signed.rawData));
}

type X509 = typeof import('@peculiar/x509');

/** Loaded when first needed: it takes as long to start as everything else together, and most commands only read. */
export async function loadX509(): Promise<X509> {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

function extensionsOf(x509: X509, template: CertificateTemplate) {
  const usageBits = template.keyUsages.reduce((bits, usage) => bits | (1 << KEY_USAGES.indexOf(usage)), 0);
  const names = [
    ...(template.dns ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(template.ips ?? []).map((value) => ({ type: 'ip' as const, value })),
  ];
  const extended = template.extendedKeyUsages.map((usage) => EXTENDED_KEY_USAGES[usage]);
  const { subjectKeyId, authorityKeyId } = template;
  const hasSubject = template.subject.cn !== undefined || (template.subject.o ?? []).length > 0;
  return [
    new x509.KeyUsagesExtension(usageBits, true),
    new x509.ExtendedKeyUsageExtension(extended, false),
    ...(template.isCa ? [new x509.BasicConstraintsExtension(true, undefined, true)] : []),
    ...(subjectKeyId ? [new x509.SubjectKeyIdentifierExtension(hex(subjectKeyId), false)] : []),
    ...(authorityKeyId ? [new x509.AuthorityKeyIdentifierExtension(hex(authorityKeyId), false)] : []),
    ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names, !hasSubject)] : []),
  ];
}

function nameOf(x509: X509, name: NameParts | Uint8Array) {
  // The issuer must repeat the CA's subject byte by byte: Go compares bytes, not characters.
  if (name instanceof Uint8Array) return new x509.Name(name);
  const rdns: Record<string, string[]>[] = [];
  if (name.o !== undefined && name.o.length > 0) rdns.push({ O: inDerOrder(name.o) });
  if (name.cn !== undefined) rdns.push({ CN: [name.cn] });
  return new x509.Name(rdns);
}

// A SET OF is sorted by encoding, which begins with the length; @peculiar/x509 keeps the given order.
function inDerOrder(values: readonly string[]): string[] {
  const encoded = (value: string) => {
    const bytes = Buffer.from(value);
    const tag = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value) ? 0x13 : 0x0c;
    return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff, tag]), bytes]);
  };
  return [...values].sort((a, b) => Buffer.compare(encoded(a), encoded(b)));
}

function signingAlgorithm(keys: SigningKeys) {
  const algorithm = algorithmOf(keys.issuer);
  if (algorithm === 'ed25519') return { name: 'Ed25519' };
  if (algorithm.startsWith('rsa-')) return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-512' };
  if (algorithm.startsWith('ecdsa-p')) {
    return { name: 'ECDSA', namedCurve: algorithm.replace('ecdsa-p', 'P-'), hash: keys.digest };
  }
  throw new PkiError('unsupported', `a CA with an ${algorithm} key cannot sign: use Ed25519, ECDSA or RSA`);
}

function publicKeyInfo(key: KeyObject): Uint8Array<ArrayBuffer> {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }));
}

function wholeSeconds(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
