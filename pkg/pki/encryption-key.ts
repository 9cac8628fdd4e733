import { randomBytes } from 'node:crypto';
import { PkiError } from './errors.ts';
import { Secret } from './secret.ts';

/** The providers of kube-apiserver's encryption at rest that hold a local key. */
export type EncryptionProvider = 'secretbox' | 'aescbc' | 'aesgcm';

/** One key of an encryption configuration. */
export interface EncryptionKey {
  readonly provider: EncryptionProvider;
  /** Stored with every value that the key encrypts, and not authenticated: never rename a key. */
  readonly name: string;
  /** Standard base64, as it stands in the configuration. */
  readonly secret: Secret<'encryption-key'>;
}

/** Key lengths in bytes that kube-apiserver takes; another length makes it exit at start. */
const LENGTHS: Readonly<Record<EncryptionProvider, readonly number[]>> = {
  secretbox: [32],
  aescbc: [16, 24, 32],
  aesgcm: [16, 24, 32],
};

/**
 * Creates a key of 32 random bytes.
 *
 * @param random where a caller must fix the bytes; the system's generator otherwise.
 * @throws {PkiError} `invalid-key` for a name that is empty or holds a colon: stored
 *   values begin with `k8s:enc:<provider>:v1:<name>:`.
 */
export function createEncryptionKey(
  provider: EncryptionProvider,
  name: string,
  random: (bytes: number) => Uint8Array = randomBytes,
): EncryptionKey {
  if (name.includes(':'))
    throw new PkiError('invalid-key', `"${name}" is no name for an encryption key: it holds a colon`);
  return parseEncryptionKey(provider, name, Buffer.from(random(32)).toString('base64'));
}

/**
 * Checks a key that was read somewhere.
 *
 * @param where the file or field, for the error.
 * @throws {PkiError} `invalid-key` for bad base64, a length that the provider does not take, or a missing name.
 */
export function parseEncryptionKey(
  provider: EncryptionProvider,
  name: string,
  base64: string | Secret,
  where?: string,
): EncryptionKey {
  const text = typeof base64 === 'string' ? base64 : base64.expose();
  if (name === '') throw new PkiError('invalid-key', `a ${provider} key has no name`, { where });
  const bytes = Buffer.from(text, 'base64');
  // Node skips what is not base64; written back, the bytes must give the same text.
  if (bytes.toString('base64') !== text) {
    throw new PkiError('invalid-key', `${provider} key ${name}: expected standard base64`, { where });
  }
  const lengths = LENGTHS[provider];
  if (!lengths.includes(bytes.length)) {
    const expected = new Intl.ListFormat('en', { type: 'disjunction' }).format(lengths.map(String));
    const message = `${provider} key ${name}: expected ${expected} bytes, found ${bytes.length}`;
    throw new PkiError('invalid-key', message, { where });
  }
  return { provider, name, secret: Secret.of('encryption-key', text) };
}
