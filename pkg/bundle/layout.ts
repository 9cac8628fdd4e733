import type { YAMLMap } from 'yaml';
import type { CaTarget } from '../pki/index.ts';
import type { Source } from './source.ts';

/** How a file names things: the layout of `talosctl gen secrets` (talhelper writes the same) or of Terraform. */
export type BundleFormat = 'talosctl' | 'terraform';

/** The CAs of a bundle in the order in which `talosctl` writes them. */
export const CAS_IN_FILE_ORDER: readonly CaTarget[] = ['etcd', 'kubernetes', 'kubernetes-aggregator', 'talos'];

/** A path from the object that holds the bundle down to one value. */
export type FieldPath = readonly string[];

/** Where one format keeps each value. */
export interface Layout {
  readonly format: BundleFormat;
  readonly clusterId: FieldPath;
  readonly clusterSecret: FieldPath;
  readonly bootstrapToken: FieldPath;
  readonly secretbox: FieldPath;
  readonly aescbc: FieldPath;
  readonly trustdToken: FieldPath;
  readonly serviceAccountKey: FieldPath;
  readonly cas: Readonly<Record<CaTarget, { readonly certificate: FieldPath; readonly key: FieldPath }>>;
}

/** `talosctl gen secrets` 1.9 to 1.14 and talhelper's `gensecret` (pkg/machinery/config/generate/secrets). */
export const TALOSCTL_LAYOUT: Layout = {
  format: 'talosctl',
  clusterId: ['cluster', 'id'],
  clusterSecret: ['cluster', 'secret'],
  bootstrapToken: ['secrets', 'bootstraptoken'],
  secretbox: ['secrets', 'secretboxencryptionsecret'],
  aescbc: ['secrets', 'aescbcencryptionsecret'],
  trustdToken: ['trustdinfo', 'token'],
  serviceAccountKey: ['certs', 'k8sserviceaccount', 'key'],
  cas: {
    talos: { certificate: ['certs', 'os', 'crt'], key: ['certs', 'os', 'key'] },
    kubernetes: { certificate: ['certs', 'k8s', 'crt'], key: ['certs', 'k8s', 'key'] },
    etcd: { certificate: ['certs', 'etcd', 'crt'], key: ['certs', 'etcd', 'key'] },
    'kubernetes-aggregator': {
      certificate: ['certs', 'k8saggregator', 'crt'],
      key: ['certs', 'k8saggregator', 'key'],
    },
  },
};

/** The attribute `machine_secrets` of Terraform's `talos_machine_secrets` (schema in the provider's documentation). */
export const TERRAFORM_LAYOUT: Layout = {
  format: 'terraform',
  clusterId: ['cluster', 'id'],
  clusterSecret: ['cluster', 'secret'],
  bootstrapToken: ['secrets', 'bootstrap_token'],
  secretbox: ['secrets', 'secretbox_encryption_secret'],
  aescbc: ['secrets', 'aescbc_encryption_secret'],
  trustdToken: ['trustdinfo', 'token'],
  serviceAccountKey: ['certs', 'k8s_serviceaccount', 'key'],
  cas: {
    talos: { certificate: ['certs', 'os', 'cert'], key: ['certs', 'os', 'key'] },
    kubernetes: { certificate: ['certs', 'k8s', 'cert'], key: ['certs', 'k8s', 'key'] },
    etcd: { certificate: ['certs', 'etcd', 'cert'], key: ['certs', 'etcd', 'key'] },
    'kubernetes-aggregator': {
      certificate: ['certs', 'k8s_aggregator', 'cert'],
      key: ['certs', 'k8s_aggregator', 'key'],
    },
  },
};

/** A bundle inside a text: where it stands and how it is laid out. */
export interface BundlePlace {
  readonly source: Source;
  readonly map: YAMLMap;
  readonly layout: Layout;
  /** What stands before a field's path in messages; empty where the file is the bundle. */
  readonly prefix: string;
}
