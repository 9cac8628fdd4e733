import type { Scalar } from 'yaml';
import {
  type Certificate,
  type Fingerprint,
  keyFingerprint,
  PkiError,
  type PublicKey,
  parsePrivateKey,
  parsePublicKeys,
  Secret,
  scanCertificates,
} from '../pki/index.ts';
import type { Access } from './access.ts';
import { MachineConfigError } from './error.ts';
import { placeAt } from './yaml/source.ts';

/** A scalar with the name that errors show. */
export interface ScalarField {
  readonly scalar: Scalar.Parsed;
  readonly path: string;
}

/** The error for a value that is not what belongs in its field. */
export function badValue(access: Access, { scalar, path }: ScalarField, message: string): MachineConfigError {
  return new MachineConfigError('bad-value', message, placeAt(access.config, scalar.range[0], path));
}

/**
 * Text out of a base64 field, as Go decodes it: line breaks inside are ignored, nothing else is.
 *
 * @throws {MachineConfigError} `bad-value`.
 */
export function fromBase64(access: Access, field: ScalarField): string {
  const text = String(field.scalar.value).replaceAll(/[\r\n]/g, '');
  if (text === '******')
    throw badValue(access, field, 'the key is hidden (******); read the configuration as os:admin');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    throw badValue(access, field, 'expected base64 of PEM text');
  }
  return Buffer.from(text, 'base64').toString('utf8');
}

/**
 * Every certificate of a field, in order. A duplicate is only noise; a broken or
 * foreign block is refused, because Go drops such a block without a word.
 *
 * @throws {MachineConfigError} `bad-value` with the line of the field.
 */
export function certificatesIn(access: Access, field: ScalarField, pem: string): Certificate[] {
  const blocks = pem.split(/(?<=-----END CERTIFICATE-----\n)/).map((block) => access.known.certificates.get(block));
  if (blocks.every((block) => block !== undefined)) return blocks;
  const { certificates, problems } = scanCertificates(pem);
  const [problem] = problems.filter(({ kind }) => kind !== 'duplicate');
  if (problem !== undefined) throw badValue(access, field, problem.message);
  return [...certificates];
}

/**
 * The fingerprint of the public half of a private key.
 *
 * @throws {MachineConfigError} `bad-value` for what is no private key; nothing in it holds key bytes.
 */
export function keyFingerprintIn(access: Access, field: ScalarField, pem: string): Fingerprint {
  const held = Secret.of('private-key', pem);
  const known = access.known.keys.find(({ key }) => key.equals(held));
  return known?.fingerprint ?? translated(access, field, () => keyFingerprint(parsePrivateKey(held)));
}

/**
 * Reads one or more public keys. Talos does not check these.
 *
 * @throws {MachineConfigError} `bad-value`: a bad one keeps kube-apiserver from starting.
 */
export function publicKeysIn(access: Access, field: ScalarField, pem: string): PublicKey[] {
  const known = access.known.publicKeys.get(pem);
  return known === undefined ? translated(access, field, () => parsePublicKeys(pem, 'its text')) : [known];
}

/** Runs a reader of `pkg/pki` and gives its refusal the place in the configuration. */
export function translated<T>(access: Access, field: ScalarField, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof PkiError) throw badValue(access, field, cause.message);
    throw cause;
  }
}
