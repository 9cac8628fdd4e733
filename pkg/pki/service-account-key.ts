import { createPublicKey, type KeyObject } from 'node:crypto';
import { type Fingerprint, type KeyAlgorithm, sha256 } from './certificate.ts';
import { PkiError } from './errors.ts';
import { parsePem, writePemBlock } from './pem.ts';
import { generatePrivateKey, keyAlgorithm, keyObjectOf, parsePrivateKey, writePrivateKey } from './private-key.ts';
import { confirmRsa } from './rsa-second-reader.ts';
import type { PrivateKeyPem, Secret } from './secret.ts';

/** The pair that signs and checks service-account tokens. */
export interface ServiceAccountKey {
  readonly privateKey: PrivateKeyPem;
  /** PEM text, `PUBLIC KEY` for RSA and `EC PUBLIC KEY` for ECDSA as Talos writes it, ending in a newline. */
  readonly publicKey: string;
  /** SHA-256 of the SubjectPublicKeyInfo. */
  readonly fingerprint: Fingerprint;
}

/** A public key as it stands among the accepted keys of a configuration. */
export interface PublicKey {
  /** One block, as it was written, ending in a newline. */
  readonly pem: string;
  /** SHA-256 of the SubjectPublicKeyInfo. */
  readonly fingerprint: Fingerprint;
}

const PUBLIC_LABELS = new Set(['PUBLIC KEY', 'EC PUBLIC KEY', 'ED25519 PUBLIC KEY']);

/** The algorithms that kube-apiserver signs tokens with. */
const TOKEN_ALGORITHMS = /^(?:rsa|ecdsa)-/;

/** Creates a pair: RSA 4096 as Talos does for every version contract after 1.6, unless another algorithm is asked for. */
export async function createServiceAccountKey(
  options: { readonly algorithm?: Exclude<KeyAlgorithm, 'ed25519'> } = {},
): Promise<ServiceAccountKey> {
  const key = writePrivateKey(await generatePrivateKey(options.algorithm ?? 'rsa-4096'));
  await confirmRsa({ key });
  return serviceAccountKey(key);
}

/**
 * Reads a pair from its private half.
 *
 * @param where the file or field, for the error.
 * @throws {PkiError} `invalid-pem` or `invalid-key`, also for a key that cannot sign tokens.
 */
export function parseServiceAccountKey(pem: string | Secret, where?: string): ServiceAccountKey {
  const privateKey = parsePrivateKey(pem, where);
  const algorithm = keyAlgorithm(privateKey);
  if (!TOKEN_ALGORITHMS.test(algorithm)) {
    const message = `service-account tokens are signed with RSA (2048, 3072 or 4096 bits) or ECDSA keys, found ${algorithm}`;
    throw new PkiError('invalid-key', message, { where });
  }
  return serviceAccountKey(privateKey);
}

/**
 * Reads one or more public keys, order kept.
 *
 * @param where the file or field, for the error.
 * @throws {PkiError} `invalid-pem` or `invalid-key`, also when there is none.
 */
export function parsePublicKeys(pem: string, where?: string): PublicKey[] {
  const blocks = parsePem(pem, where);
  if (blocks.length === 0) throw new PkiError('invalid-key', 'expected at least one public key, found none', { where });
  return blocks.map((block) => {
    if (!PUBLIC_LABELS.has(block.label)) {
      const message = `expected a public key (${[...PUBLIC_LABELS].join(', ')}), found ${block.label}`;
      throw new PkiError('invalid-key', message, { where, line: block.line });
    }
    let key: KeyObject;
    try {
      key = createPublicKey({ key: Buffer.from(block.bytes), format: 'der', type: 'spki' });
    } catch (cause) {
      throw new PkiError('invalid-key', `the ${block.label} block holds no public key`, {
        where,
        line: block.line,
        cause,
      });
    }
    return { pem: block.text, fingerprint: sha256(key.export({ type: 'spki', format: 'der' })) };
  });
}

function serviceAccountKey(privateKey: PrivateKeyPem): ServiceAccountKey {
  const key = createPublicKey(keyObjectOf(privateKey));
  const der = key.export({ type: 'spki', format: 'der' });
  const label = key.asymmetricKeyType === 'ec' ? 'EC PUBLIC KEY' : 'PUBLIC KEY';
  return { privateKey, publicKey: writePemBlock(label, der), fingerprint: sha256(der) };
}
