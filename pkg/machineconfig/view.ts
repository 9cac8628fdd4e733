import type { Certificate, Fingerprint } from '../pki/index.ts';
import type { Access } from './access.ts';
import { apiServerPortOf } from './api-server-port.ts';
import type { CaHome } from './ca-home.ts';
import { readEncryption } from './encryption-rules.ts';
import { type ConfigProblem, firstTypedKind, problemsOf } from './problems.ts';
import { clusterOf, type Role, roleOf } from './role.ts';
import { etcdCa } from './targets/etcd.ts';
import { kubernetesHome } from './targets/kubernetes.ts';
import { aggregatorHome } from './targets/kubernetes-aggregator.ts';
import { serviceAccountHome } from './targets/service-account.ts';
import { talosHome } from './targets/talos.ts';
import { scalarOf } from './yaml/nodes.ts';
import { documentOf } from './yaml/parse.ts';

/** Which documents hold the Kubernetes material: the old one, the typed ones of Talos 1.14, or both. */
export type ConfigShape = 'legacy' | 'typed' | 'mixed';

/** What a configuration says about one CA. */
export interface CaView {
  readonly shape: 'legacy' | 'typed';
  /** The CA that signs; on workers the one that is trusted first, if it is written apart from the list. */
  readonly issuing: Certificate | undefined;
  /** Certificates behind it in the same field: they sign nothing, and kube-controller-manager exits over them. */
  readonly besideIssuing: readonly Certificate[];
  readonly hasKey: boolean;
  /** Of the public half; equals the issuing certificate's where the two fit. */
  readonly keyFingerprint: Fingerprint | undefined;
  /** The accepted list as written, in order; the issuing CA is accepted besides. */
  readonly accepted: readonly Certificate[];
}

/** What a configuration says about etcd's CA. */
export interface EtcdView {
  /** The certificates of `cluster.etcd.ca.crt`, in order: all are trusted, the first signs. */
  readonly bundle: readonly Certificate[];
  readonly keyFingerprint: Fingerprint | undefined;
}

/** One rule of the encryption at rest, names only. */
export interface EncryptionRuleView {
  readonly resources: readonly string[];
  /** In order: the first key of the first provider writes; `identity` and foreign providers have no keys. */
  readonly providers: readonly { readonly provider: string; readonly keys: readonly string[] }[];
}

/** What a configuration says about the service-account key. */
export interface ServiceAccountView {
  readonly shape: 'legacy' | 'typed';
  /** The key that signs, by its public half; its own tokens are always accepted. */
  readonly issuer: Fingerprint;
  /** The public keys that are accepted besides, in order. */
  readonly accepted: readonly Fingerprint[];
  /** The issuer URL in tokens: written, or derived from the endpoint in the old shape. */
  readonly issuerUrl: string | undefined;
}

/** Everything about keys and trust in one machine configuration; no key bytes. */
export interface MachineConfigView {
  readonly role: Role;
  readonly shape: ConfigShape;
  /** The oldest Talos that knows all of these documents: `v1.14` for typed ones, else any. */
  readonly minimumTalos: 'v1.14' | undefined;
  readonly talos: CaView;
  readonly kubernetes: CaView;
  /** Control planes only, as the five below. */
  readonly aggregator: CaView | undefined;
  readonly etcd: EtcdView | undefined;
  readonly encryption:
    | { readonly shape: 'legacy' | 'typed'; readonly rules: readonly EncryptionRuleView[] }
    | undefined;
  readonly serviceAccount: ServiceAccountView | undefined;
  /** Where kube-apiserver listens: see {@link apiServerPortOf}. */
  readonly apiServerPort: number | undefined;
  readonly clusterName: string | undefined;
  readonly endpoint: string | undefined;
  readonly clusterId: string | undefined;
  /** Why it would not be rendered; empty for a sound configuration. */
  readonly problems: readonly ConfigProblem[];
}

/** Reads the view. @throws {MachineConfigError} for values that are not what belongs in their field. */
export function viewOf(access: Access): MachineConfigView {
  const aggregator = aggregatorHome(access);
  const etcd = etcdCa(access);
  const encryption = roleOf(access) === 'controlplane' ? readEncryption(access) : undefined;
  return {
    role: roleOf(access),
    shape: shapeOf(access),
    minimumTalos: firstTypedKind(access) === undefined ? undefined : 'v1.14',
    talos: caView(talosHome(access)),
    kubernetes: caView(kubernetesHome(access)),
    aggregator: aggregator === undefined ? undefined : caView(aggregator),
    etcd:
      etcd === undefined
        ? undefined
        : {
            bundle: etcd.certificates,
            keyFingerprint: etcd.keyFingerprint(),
          },
    encryption:
      encryption === undefined
        ? undefined
        : {
            shape: encryption.shape,
            rules: encryption.rules.map(({ resources, providers }) => ({
              resources,
              providers: providers.map(({ name, keys }) => ({ provider: name, keys: keys.map(({ key }) => key.name) })),
            })),
          },
    serviceAccount: serviceAccountView(access),
    apiServerPort: roleOf(access) === 'controlplane' ? apiServerPortOf(access) : undefined,
    ...identityOf(access),
    problems: problemsOf(access),
  };
}

function caView({ shape, issuing, accepted }: CaHome): CaView {
  return {
    shape,
    issuing: issuing?.certificates[0],
    besideIssuing: issuing?.certificates.slice(1) ?? [],
    hasKey: issuing?.hasKey ?? false,
    keyFingerprint: issuing?.keyFingerprint(),
    accepted: (accepted?.entries ?? []).flat().flatMap(({ certificate }) => certificate ?? []),
  };
}

function serviceAccountView(access: Access): ServiceAccountView | undefined {
  const home = serviceAccountHome(access);
  if (home === undefined) return undefined;
  const document = documentOf(access.config, 'KubeServiceAccountConfig');
  const issuer = document && access.fields.map(document.map, 'issuer', 'KubeServiceAccountConfig.issuer');
  return {
    shape: home.shape === 'typed' ? 'typed' : 'legacy',
    issuer: home.issuer,
    accepted: (home.accepted?.entries ?? []).flat().map(({ id }) => id as Fingerprint),
    issuerUrl: issuer === undefined ? identityOf(access).endpoint : scalarOf(issuer, 'issuerURL'),
  };
}

function identityOf(access: Access): Pick<MachineConfigView, 'clusterName' | 'endpoint' | 'clusterId'> {
  const cluster = clusterOf(access);
  const controlPlane = cluster && access.fields.map(cluster, 'controlPlane', 'cluster.controlPlane');
  const document = documentOf(access.config, 'KubeClusterConfig')?.map;
  const identity = documentOf(access.config, 'DiscoveryIdentityConfig')?.map;
  return {
    clusterName: (document && scalarOf(document, 'clusterName')) ?? (cluster && scalarOf(cluster, 'clusterName')),
    endpoint: (document && scalarOf(document, 'endpoint')) ?? (controlPlane && scalarOf(controlPlane, 'endpoint')),
    // Talos lets the old field win here, against its own rule for the other documents.
    clusterId: (cluster && scalarOf(cluster, 'id')) ?? (identity && scalarOf(identity, 'clusterID')),
  };
}

const MATERIAL = [
  { kind: 'KubeAPIServerCAConfig', fields: ['ca', 'acceptedCAs'] },
  { kind: 'KubeAggregatorCAConfig', fields: ['aggregatorCA'] },
  { kind: 'KubeServiceAccountConfig', fields: ['serviceAccount'] },
  { kind: 'KubeEtcdEncryptionConfig', fields: ['secretboxEncryptionSecret', 'aescbcEncryptionSecret'] },
] as const;

function shapeOf(access: Access): ConfigShape {
  const cluster = clusterOf(access);
  const isTyped = MATERIAL.some(({ kind }) => documentOf(access.config, kind) !== undefined);
  const isLegacy = MATERIAL.some(({ kind, fields }) => {
    if (documentOf(access.config, kind) !== undefined) return false;
    return fields.some((field) => cluster?.has(field) === true);
  });
  if (isTyped && isLegacy) return 'mixed';
  return isTyped ? 'typed' : 'legacy';
}
