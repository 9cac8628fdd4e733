import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import {
  algorithmOf,
  type Certificate,
  type CertificateAlgorithm,
  type Fingerprint,
  type KeyAlgorithm,
  sha256,
} from './certificate.ts';
import { childrenOf, readDer } from './der.ts';
import { PkiError } from './errors.ts';
import { parsePem, writePemBlock } from './pem.ts';
import { type PrivateKeyPem, Secret } from './secret.ts';

/** The DER form inside each private key label that Talos reads (siderolabs/crypto, x509/key.go). */
const FORMS: Readonly<Record<string, { readonly form: 'pkcs8' | 'sec1' | 'pkcs1'; readonly algorithms: RegExp }>> = {
  'ED25519 PRIVATE KEY': { form: 'pkcs8', algorithms: /^ed25519$/ },
  'EC PRIVATE KEY': { form: 'sec1', algorithms: /^(?:ecdsa-|other:)/ },
  'RSA PRIVATE KEY': { form: 'pkcs1', algorithms: /^(?:rsa-|other:rsa)/ },
  'PRIVATE KEY': { form: 'pkcs8', algorithms: /./ },
};

const generate = promisify(generateKeyPair);

/**
 * Reads one private key under any label that Talos reads and keeps its text as it was written.
 *
 * @param where the file or field, for the error.
 * @throws {PkiError} `invalid-pem` or `invalid-key`; the message never quotes the key.
 */
export function parsePrivateKey(pem: string | Secret, where?: string): PrivateKeyPem {
  const text = typeof pem === 'string' ? pem : pem.expose();
  if (text.trim() === '******') {
    throw new PkiError('invalid-key', 'the private key is redacted ("******"): read it from the original', { where });
  }
  const [block, second] = parsePem(text, where);
  if (block === undefined || second !== undefined) {
    const found = block === undefined ? 'no PEM block' : `a second block (${second?.label}) at line ${second?.line}`;
    throw new PkiError('invalid-key', `expected exactly one private key, found ${found}`, { where });
  }
  const key = Secret.of('private-key', block.text);
  decodeBlock(block.label, block.bytes, where);
  return key;
}

/** Node's form of a key: for signing, for TLS contexts. Keep it as briefly as an exposed secret. */
export function keyObjectOf(key: PrivateKeyPem): KeyObject {
  const [block] = parsePem(key.expose());
  if (block === undefined) throw new PkiError('invalid-key', 'expected a private key, found no PEM block');
  return decodeBlock(block.label, block.bytes);
}

/**
 * The same key as PKCS#8 under `PRIVATE KEY`, for Node's TLS and for OpenSSL,
 * which both refuse Talos's `ED25519 PRIVATE KEY`.
 */
export function toPkcs8(key: PrivateKeyPem): PrivateKeyPem {
  const known = pkcs8.get(key);
  if (known !== undefined) return known;
  const der = keyObjectOf(key).export({ type: 'pkcs8', format: 'der' });
  const written = Secret.of('private-key', writePemBlock('PRIVATE KEY', der));
  pkcs8.set(key, written);
  return written;
}

/** A key is written once, though every connection shows it; forgotten together with it. */
const pkcs8 = new WeakMap<PrivateKeyPem, PrivateKeyPem>();

/** Writes a key under Talos's own label: PKCS#8, SEC1 or PKCS#1, by its algorithm. */
export function writePrivateKey(key: KeyObject): PrivateKeyPem {
  const [label, type] = writtenForm(key);
  return Secret.of('private-key', writePemBlock(label, key.export({ type, format: 'der' })));
}

/**
 * Creates a key. RSA takes about a second for 4096 bits; it runs off the main thread.
 */
export async function generatePrivateKey(algorithm: KeyAlgorithm): Promise<KeyObject> {
  const [family, size = ''] = algorithm.split('-');
  if (family === 'ed25519') return (await generate('ed25519')).privateKey;
  if (family === 'rsa') return (await generate('rsa', { modulusLength: Number(size) })).privateKey;
  return (await generate('ec', { namedCurve: size.toUpperCase().replace('P', 'P-') })).privateKey;
}

/** The algorithm of a private key. */
export function keyAlgorithm(key: PrivateKeyPem): CertificateAlgorithm {
  return algorithmOf(keyObjectOf(key));
}

/** SHA-256 of the SubjectPublicKeyInfo of the key's public half; safe to print. */
export function keyFingerprint(key: PrivateKeyPem): Fingerprint {
  const known = fingerprints.get(key);
  if (known !== undefined) return known;
  const fingerprint = sha256(createPublicKey(keyObjectOf(key)).export({ type: 'spki', format: 'der' }));
  fingerprints.set(key, fingerprint);
  return fingerprint;
}

/** A key is decoded once; forgotten together with it. */
const fingerprints = new WeakMap<PrivateKeyPem, Fingerprint>();

/** Whether `key` is the private half of the key in `certificate`. */
export function keyFits(certificate: Certificate, key: PrivateKeyPem): boolean {
  return keyFingerprint(key) === certificate.publicKeyFingerprint;
}

function decodeBlock(label: string, bytes: Uint8Array, where?: string): KeyObject {
  const form = FORMS[label];
  if (label === 'ENCRYPTED PRIVATE KEY') {
    throw new PkiError('invalid-key', 'the private key is encrypted: decrypt it first (openssl pkey -in …)', { where });
  }
  if (form === undefined) {
    const known = Object.keys(FORMS).join(', ');
    throw new PkiError('invalid-key', `expected a private key (${known}), found ${label}`, { where });
  }
  let key: KeyObject;
  try {
    // OpenSSL reads any form under any name; Go, and so Talos, only the one that the label stands for.
    if (formOf(bytes) !== form.form) throw new RangeError('another form');
    key = createPrivateKey({ key: Buffer.from(bytes), format: 'der', type: form.form });
  } catch {
    // The cause is left out on purpose: a foreign message could quote the input.
    throw new PkiError('invalid-key', `the ${label} block holds no ${form.form.toUpperCase()} private key`, { where });
  }
  const algorithm = algorithmOf(key);
  if (!form.algorithms.test(algorithm)) {
    throw new PkiError('invalid-key', `the ${label} block holds a key of another algorithm: ${algorithm}`, { where });
  }
  return key;
}

/** Tells the three forms apart by what follows the version: an algorithm, an octet string or the modulus. */
function formOf(bytes: Uint8Array): 'pkcs8' | 'sec1' | 'pkcs1' | undefined {
  const outer = readDer(bytes);
  if (outer.length !== 1) return undefined;
  const tag = childrenOf(outer[0])[1]?.tag;
  return tag === 0x30 ? 'pkcs8' : tag === 0x04 ? 'sec1' : tag === 0x02 ? 'pkcs1' : undefined;
}

function writtenForm(
  key: KeyObject,
): ['ED25519 PRIVATE KEY' | 'PRIVATE KEY', 'pkcs8'] | ['EC PRIVATE KEY', 'sec1'] | ['RSA PRIVATE KEY', 'pkcs1'] {
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return ['ED25519 PRIVATE KEY', 'pkcs8'];
    case 'ec':
      return ['EC PRIVATE KEY', 'sec1'];
    case 'rsa':
      return ['RSA PRIVATE KEY', 'pkcs1'];
    default:
      return ['PRIVATE KEY', 'pkcs8'];
  }
}
