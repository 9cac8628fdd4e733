import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import {
  type CaTarget,
  type CertificateAndKey,
  type CreateCaOptions,
  createCa,
  issueLeaf,
  type LeafProfile,
  parseCertificate,
  parsePrivateKey,
} from '../../pkg/pki/index.ts';

type CryptoKeyPair = webcrypto.CryptoKeyPair;
type RsaHashedKeyGenParams = webcrypto.RsaHashedKeyGenParams;
type EcKeyGenParams = webcrypto.EcKeyGenParams;

const P256 = { name: 'ECDSA', namedCurve: 'P-256' };
const CA_USAGES = x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign;

/** The time at which test material is made, well inside every validity: 2026-11-30T00:53:20Z. */
export const MADE_AT = 1_796_000_000_000;

/** A CA in Talos's profile, made at {@link MADE_AT} unless overridden. */
export function aCa(target: CaTarget = 'talos', overrides: Partial<CreateCaOptions> = {}): Promise<CertificateAndKey> {
  return createCa(target, { now: MADE_AT, ...overrides });
}

/** A client's leaf, made at {@link MADE_AT} unless overridden. */
export function aLeaf(ca: CertificateAndKey, overrides: Partial<LeafProfile> = {}): Promise<CertificateAndKey> {
  return issueLeaf(ca, { subject: { cn: 'somebody' }, usages: ['client'], now: MADE_AT, ...overrides });
}

/** What an unusual certificate is made of; everything but what is given is as in a CA of Talos. */
export interface OddOptions {
  readonly subject?: string;
  readonly issuer?: string;
  readonly serial?: string;
  readonly notBefore?: number;
  readonly notAfter?: number;
  /** `false` leaves the extension out. */
  readonly isCa?: boolean;
  readonly pathLength?: number;
  /** Names as in WebCrypto; `false` leaves the extension out. */
  readonly keyUsages?: x509.KeyUsageFlags | false;
  readonly extendedKeyUsages?: readonly string[] | false;
  /** Hexadecimal; `false` leaves the extension out. */
  readonly subjectKeyId?: string | false;
  readonly authorityKeyId?: string;
  readonly extra?: readonly x509.Extension[];
  /** The certificate's key; a new P-256 key unless given. */
  readonly keys?: CryptoKeyPair;
  /** Whose key signs; its own unless given. */
  readonly signer?: CryptoKeyPair;
  readonly signingAlgorithm?: { readonly name: string; readonly hash?: string };
}

/** A key pair of WebCrypto, for {@link anOddCertificate}; P-256 unless another algorithm is given. */
export async function oddKeys(algorithm: RsaHashedKeyGenParams | EcKeyGenParams = P256): Promise<CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair;
}

/** A certificate that Ichor itself would not make, written by @peculiar/x509 alone. */
export async function anOddCertificate(options: OddOptions = {}): Promise<CertificateAndKey> {
  const keys = options.keys ?? (await oddKeys());
  const signer = options.signer ?? keys;
  const { subject = 'O=etcd', keyUsages = CA_USAGES, subjectKeyId = '11'.repeat(20), authorityKeyId } = options;
  const extended = options.extendedKeyUsages ?? ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'];
  const made = await x509.X509CertificateGenerator.create({
    subject,
    issuer: options.issuer ?? subject,
    serialNumber: options.serial ?? randomBytes(15).toString('hex'),
    notBefore: new Date(options.notBefore ?? MADE_AT - 3_600_000),
    notAfter: new Date(options.notAfter ?? MADE_AT + 3_600_000_000),
    publicKey: keys.publicKey,
    signingKey: signer.privateKey,
    signingAlgorithm: options.signingAlgorithm ?? { name: 'ECDSA', hash: 'SHA-256' },
    extensions: [
      ...(keyUsages === false ? [] : [new x509.KeyUsagesExtension(keyUsages, true)]),
      ...(extended === false ? [] : [new x509.ExtendedKeyUsageExtension([...extended], false)]),
      ...(options.isCa === false && options.pathLength === undefined
        ? []
        : [new x509.BasicConstraintsExtension(options.isCa ?? true, options.pathLength, true)]),
      ...(subjectKeyId === false ? [] : [new x509.SubjectKeyIdentifierExtension(subjectKeyId)]),
      ...(authorityKeyId === undefined ? [] : [new x509.AuthorityKeyIdentifierExtension(authorityKeyId)]),
      ...(options.extra ?? []),
    ],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const pem = `-----BEGIN PRIVATE KEY-----\n${pkcs8.toString('base64')}\n-----END PRIVATE KEY-----\n`;
  return { certificate: parseCertificate(`${made.toString('pem')}\n`), key: parsePrivateKey(pem) };
}
