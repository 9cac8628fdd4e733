import type { Certificate, Fingerprint, PrivateKeyPem, PublicKey } from '../pki/index.ts';
import type { Change } from './model.ts';

/**
 * Material that a caller has read already. Most of the certificates and keys of a
 * configuration are those of the changes, and comparing text is hundreds of times
 * cheaper than parsing it.
 */
export interface Known {
  /** By PEM text. */
  readonly certificates: ReadonlyMap<string, Certificate>;
  /** By PEM text. */
  readonly publicKeys: ReadonlyMap<string, PublicKey>;
  readonly keys: readonly { readonly key: PrivateKeyPem; readonly fingerprint: Fingerprint }[];
}

/** The material of some changes. */
export function knownOf(changes: readonly Change[]): Known {
  const certificates = new Map<string, Certificate>();
  const publicKeys = new Map<string, PublicKey>();
  const keys: { key: PrivateKeyPem; fingerprint: Fingerprint }[] = [];
  for (const side of changes.flatMap((change) => [change.old, change.new])) {
    if ('certificate' in side) {
      certificates.set(side.certificate.pem, side.certificate);
      keys.push({ key: side.key, fingerprint: side.certificate.publicKeyFingerprint });
    } else if ('privateKey' in side) {
      publicKeys.set(side.publicKey, { pem: side.publicKey, fingerprint: side.fingerprint });
      keys.push({ key: side.privateKey, fingerprint: side.fingerprint });
    }
  }
  return { certificates, publicKeys, keys };
}
