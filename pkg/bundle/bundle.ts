import type { CaTarget, CertificateAndKey, EncryptionKey, Secret, ServiceAccountKey } from '../pki/index.ts';

/** The order in which targets are written, listed and hashed. */
export const CA_TARGETS: readonly CaTarget[] = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'];

/** The keys of a cluster that are no certificate authority. */
export type KeyTarget = 'etcd-encryption' | 'service-account';

/** Every secret of a Talos cluster: what `talosctl gen secrets` makes, read and checked. */
export interface SecretsBundle {
  /** An opaque text: base64 of 32 bytes, URL-safe before Talos 1.14. Never changes. */
  readonly clusterId: string;
  /** Base64 of 32 bytes. Never changes. */
  readonly clusterSecret: Secret<'cluster-secret'>;
  /** The token with which a kubelet joins: `abcdef.0123456789abcdef`. */
  readonly bootstrapToken: Secret<'token'>;
  /** The token with which a worker asks trustd for a certificate; the same form. */
  readonly trustdToken: Secret<'token'>;
  /** Base64 of the key that encrypts Secrets in etcd, provider secretbox. */
  readonly secretboxEncryptionSecret?: Secret<'encryption-key'>;
  /** Base64 of the key that encrypts Secrets in etcd, provider aescbc (clusters born before Talos 1.3). */
  readonly aescbcEncryptionSecret?: Secret<'encryption-key'>;
  /** The CA of the Talos API (`certs.os`). */
  readonly talos: CertificateAndKey;
  /** The CA of the Kubernetes API (`certs.k8s`). */
  readonly kubernetes: CertificateAndKey;
  /** The CA of etcd (`certs.etcd`). */
  readonly etcd: CertificateAndKey;
  /** The front-proxy CA (`certs.k8saggregator`). */
  readonly aggregator: CertificateAndKey;
  /** The key that signs service-account tokens (`certs.k8sserviceaccount`). */
  readonly serviceAccount: ServiceAccountKey;
}

/** New material for a bundle; what is absent stays as it is. */
export type BundleReplacements = {
  readonly [Target in CaTarget]?: CertificateAndKey;
} & {
  /** Provider secretbox or aescbc: a bundle has no field for another. The name is not stored: Talos derives it. */
  readonly 'etcd-encryption'?: EncryptionKey;
  readonly 'service-account'?: ServiceAccountKey;
};

/** The CA of `target` in `bundle`. */
export function caOf(bundle: SecretsBundle, target: CaTarget): CertificateAndKey {
  return target === 'kubernetes-aggregator' ? bundle.aggregator : bundle[target];
}

/** The bundle that a replacement leads to, in memory only. */
export function withReplacements(bundle: SecretsBundle, replacements: BundleReplacements): SecretsBundle {
  const { secretboxEncryptionSecret, aescbcEncryptionSecret, ...rest } = bundle;
  return {
    ...rest,
    talos: replacements.talos ?? bundle.talos,
    kubernetes: replacements.kubernetes ?? bundle.kubernetes,
    etcd: replacements.etcd ?? bundle.etcd,
    aggregator: replacements['kubernetes-aggregator'] ?? bundle.aggregator,
    serviceAccount: replacements['service-account'] ?? bundle.serviceAccount,
    ...encryptionSecrets({ secretboxEncryptionSecret, aescbcEncryptionSecret }, replacements['etcd-encryption']),
  };
}

type EncryptionSecrets = {
  readonly secretboxEncryptionSecret?: Secret<'encryption-key'> | undefined;
  readonly aescbcEncryptionSecret?: Secret<'encryption-key'> | undefined;
};

/** A new key takes the place of the one of its provider; where there is none, of the one of the other provider. */
function encryptionSecrets(
  held: EncryptionSecrets,
  key: EncryptionKey | undefined,
): Pick<SecretsBundle, 'secretboxEncryptionSecret' | 'aescbcEncryptionSecret'> {
  let { secretboxEncryptionSecret: secretbox, aescbcEncryptionSecret: aescbc } = held;
  if (key?.provider === 'secretbox') [secretbox, aescbc] = [key.secret, secretbox === undefined ? undefined : aescbc];
  if (key?.provider === 'aescbc') [secretbox, aescbc] = [aescbc === undefined ? undefined : secretbox, key.secret];
  return {
    ...(secretbox === undefined ? {} : { secretboxEncryptionSecret: secretbox }),
    ...(aescbc === undefined ? {} : { aescbcEncryptionSecret: aescbc }),
  };
}
