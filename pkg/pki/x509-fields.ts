import { childrenOf, type DerValue, dottedOid, readDer } from './der.ts';

/** One extension as it stands in the certificate. */
export interface ExtensionField {
  readonly oid: string;
  readonly critical: boolean;
  /** The DER inside the OCTET STRING. */
  readonly value: Uint8Array;
}

/** The parts of a certificate that Node's reader does not give, or gives only as text. */
export interface X509Fields {
  /** The whole issuer Name, DER: Go and Kubernetes compare these bytes, not the text. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKeyInfo: Uint8Array;
  /** Content octets of the serial INTEGER. */
  readonly serial: Uint8Array;
  /** Dotted OID of the signature algorithm. */
  readonly signatureAlgorithm: string;
  readonly extensions: readonly ExtensionField[];
  readonly basicConstraints: { readonly isCa: boolean; readonly pathLength: number | undefined } | undefined;
  /** Names of the bits set, `undefined` without the extension (then every usage is allowed). */
  readonly keyUsages: readonly KeyUsageName[] | undefined;
  /** Dotted OIDs, `undefined` without the extension (then every usage is allowed). */
  readonly extendedKeyUsages: readonly string[] | undefined;
  readonly subjectKeyId: Uint8Array | undefined;
  /** The keyIdentifier of the authority key identifier; `undefined` when absent. */
  readonly authorityKeyId: Uint8Array | undefined;
}

/** The key usage bits in the order of their numbers (RFC 5280, 4.2.1.3). */
export const KEY_USAGES = [
  'digitalSignature',
  'contentCommitment',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const;

/** One key usage bit by name. */
export type KeyUsageName = (typeof KEY_USAGES)[number];

/** Dotted OIDs of the extensions that are read here. */
export const EXTENSIONS = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const;

/** Dotted OIDs of the extended key usages that Talos's certificates carry. */
export const EXTENDED_KEY_USAGES = {
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
  any: '2.5.29.37.0',
} as const;

/**
 * Reads the fields of an X.509 v1 or v3 certificate (RFC 5280, 4.1) from strict DER.
 *
 * @throws {RangeError} where the bytes are not DER, not a certificate, or go on behind it.
 */
export function readX509(der: Uint8Array): X509Fields {
  const outer = readDer(der);
  if (outer.length !== 1) throw new RangeError('bytes follow the certificate');
  const [toBeSigned, signatureAlgorithm] = childrenOf(expect(outer[0], 0x30, 'the certificate'));
  const all = childrenOf(expect(toBeSigned, 0x30, 'the certificate body'));
  const body = all[0]?.tag === 0xa0 ? all.slice(1) : all;
  const [serial, , issuer, , subject, publicKeyInfo] = body;
  const extensions = readExtensions(body.find((value) => value.tag === 0xa3));
  const value = (oid: string) => extensions.find((extension) => extension.oid === oid)?.value;
  return {
    issuer: expect(issuer, 0x30, 'the issuer').whole,
    subject: expect(subject, 0x30, 'the subject').whole,
    publicKeyInfo: expect(publicKeyInfo, 0x30, 'the public key').whole,
    serial: expect(serial, 0x02, 'the serial number').content,
    signatureAlgorithm: readOid(childrenOf(signatureAlgorithm)[0]),
    extensions,
    basicConstraints: readBasicConstraints(value(EXTENSIONS.basicConstraints)),
    keyUsages: readKeyUsages(value(EXTENSIONS.keyUsage)),
    extendedKeyUsages: readExtendedKeyUsages(value(EXTENSIONS.extendedKeyUsage)),
    subjectKeyId: only(value(EXTENSIONS.subjectKeyId))?.content,
    authorityKeyId: readAuthorityKeyId(value(EXTENSIONS.authorityKeyId)),
  };
}

function readExtensions(wrapper: DerValue | undefined): ExtensionField[] {
  if (wrapper === undefined) return [];
  const seen = new Set<string>();
  return childrenOf(childrenOf(wrapper)[0]).map((extension) => {
    const parts = childrenOf(extension);
    const oid = readOid(parts[0]);
    if (seen.has(oid)) throw new RangeError(`extension ${oid} stands twice`);
    seen.add(oid);
    const critical = parts[1]?.tag === 0x01 && parts[1].content[0] !== 0;
    return { oid, critical, value: expect(parts.at(-1), 0x04, `extension ${oid}`).content };
  });
}

function readBasicConstraints(value: Uint8Array | undefined): X509Fields['basicConstraints'] {
  if (value === undefined) return undefined;
  const parts = childrenOf(only(value));
  const isCa = parts[0]?.tag === 0x01 && parts[0].content[0] !== 0;
  const length = parts.find((part) => part.tag === 0x02);
  return { isCa, pathLength: length?.content.reduce((sum, octet) => sum * 256 + octet, 0) };
}

function readKeyUsages(value: Uint8Array | undefined): KeyUsageName[] | undefined {
  const bits = only(value)?.content.subarray(1);
  if (bits === undefined) return undefined;
  return KEY_USAGES.filter((_, bit) => ((bits[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0);
}

function readExtendedKeyUsages(value: Uint8Array | undefined): string[] | undefined {
  return value === undefined ? undefined : childrenOf(only(value)).map(readOid);
}

function readAuthorityKeyId(value: Uint8Array | undefined): Uint8Array | undefined {
  if (value === undefined) return undefined;
  return childrenOf(only(value)).find((part) => part.tag === 0x80)?.content;
}

function readOid(value: DerValue | undefined): string {
  return dottedOid(expect(value, 0x06, 'an object identifier').content);
}

function only(value: Uint8Array | undefined): DerValue | undefined {
  return value === undefined ? undefined : readDer(value)[0];
}

function expect(value: DerValue | undefined, tag: number, what: string): DerValue {
  if (value?.tag !== tag) throw new RangeError(`${what} is missing or of another type`);
  return value;
}
