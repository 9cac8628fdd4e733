import { parse } from 'yaml';
import {
  ConfigStatusSpec,
  NodenameSpec,
  SecretsStatusSpec,
  StaticPodStatusSpec,
} from '../../../proto/generated/talos/resources/k8s.ts';
import { KubernetesCertsSpec, KubernetesRootSpec } from '../../../proto/generated/talos/resources/secrets.ts';
import type { Certificate, Fingerprint } from '../../pki/index.ts';
import {
  type CertificatesOfKey,
  readAccepted,
  readAddress,
  readBundle,
  readKeyFingerprint,
  readPair,
} from '../fields.ts';
import type { ResourceKind } from '../resource.ts';
import {
  type EncryptionEntry,
  type EncryptionKeyReference,
  encryptionKeyFingerprint,
  readEncryption,
} from './encryption.ts';

/** Everything that Kubernetes' PKI on a control plane is made from. Any change restarts the three static pods. */
export interface KubernetesRoot {
  readonly clusterName: string;
  readonly endpoint: string;
  readonly issuing: CertificatesOfKey | undefined;
  /** The issuing CA first. */
  readonly accepted: readonly Certificate[];
  readonly aggregator: CertificatesOfKey | undefined;
  /** From 1.14. */
  readonly acceptedAggregator: readonly Certificate[];
  readonly serviceAccountKey: Fingerprint | undefined;
  /** From 1.14. */
  readonly acceptedServiceAccountKeys: readonly Fingerprint[];
  /** Of the legacy fields, with the names that Talos gives them: secretbox `key2`, aescbc `key1`. */
  readonly legacyEncryption: readonly EncryptionKeyReference[];
  /** Of the 1.14 document; empty without one. */
  readonly encryption: readonly EncryptionEntry[];
  readonly issuerUrl: string;
  readonly apiServerIps: readonly string[];
}

export const KUBERNETES_ROOT: ResourceKind<KubernetesRoot> = {
  type: 'KubernetesRootSecrets.secrets.talos.dev',
  namespace: 'secrets',
  id: 'k8s',
  decode(bytes) {
    const spec = KubernetesRootSpec.decode(bytes);
    const where = 'KubernetesRootSecrets/k8s';
    return {
      clusterName: spec.name,
      endpoint: spec.endpoint?.fullPath ?? '',
      issuing: readPair(spec.issuingCa, `${where} issuingCA`),
      accepted: readAccepted(spec.acceptedCAs, `${where} acceptedCAs`),
      aggregator: readPair(spec.aggregatorCa, `${where} aggregatorCA`),
      acceptedAggregator: readAccepted(spec.acceptedAggregatorCAs, `${where} acceptedAggregatorCAs`),
      serviceAccountKey: readKeyFingerprint(spec.serviceAccount, `${where} serviceAccount`),
      acceptedServiceAccountKeys: spec.serviceAccountAcceptedKeys.flatMap(
        (key, index) => readKeyFingerprint(key, `${where} serviceAccountAcceptedKeys[${index}]`) ?? [],
      ),
      legacyEncryption: [
        ...legacyKey('secretbox', 'key2', spec.secretboxEncryptionSecret),
        ...legacyKey('aescbc', 'key1', spec.aescbcEncryptionSecret),
      ],
      encryption: readEncryption(spec.etcdEncryptionConfig, `${where} etcdEncryptionConfig`),
      issuerUrl: spec.issuerUrl,
      apiServerIps: spec.apiServerIps.map((address) => readAddress(address.ip)),
    };
  },
};

function legacyKey(provider: string, name: string, secret: string): EncryptionKeyReference[] {
  return secret === '' ? [] : [{ provider, name, fingerprint: encryptionKeyFingerprint(secret) }];
}

/** What a kubeconfig trusts and presents; its key is dropped when the resource is read. */
export interface KubeconfigCertificates {
  readonly server: string;
  readonly trust: readonly Certificate[];
  readonly client: readonly Certificate[];
}

/** Kubeconfigs of the control-plane components. Their version is the one in `SecretStatuses`. */
export interface KubernetesCertificates {
  readonly scheduler: KubeconfigCertificates | undefined;
  readonly controllerManager: KubeconfigCertificates | undefined;
  readonly localhostAdmin: KubeconfigCertificates | undefined;
  readonly admin: KubeconfigCertificates | undefined;
}

export const KUBERNETES_CERTIFICATES: ResourceKind<KubernetesCertificates> = {
  type: 'KubernetesSecrets.secrets.talos.dev',
  namespace: 'secrets',
  id: 'k8s-certs',
  decode(bytes) {
    const spec = KubernetesCertsSpec.decode(bytes);
    return {
      scheduler: readKubeconfig(spec.schedulerKubeconfig, 'schedulerKubeconfig'),
      controllerManager: readKubeconfig(spec.controllerManagerKubeconfig, 'controllerManagerKubeconfig'),
      localhostAdmin: readKubeconfig(spec.localhostAdminKubeconfig, 'localhostAdminKubeconfig'),
      admin: readKubeconfig(spec.adminKubeconfig, 'adminKubeconfig'),
    };
  },
};

interface KubeconfigDocument {
  readonly clusters?: readonly {
    readonly cluster?: { readonly server?: string; readonly 'certificate-authority-data'?: string };
  }[];
  readonly users?: readonly { readonly user?: { readonly 'client-certificate-data'?: string } }[];
}

function readKubeconfig(text: string, field: string): KubeconfigCertificates | undefined {
  if (text === '') return undefined;
  const document = readKubeconfigDocument(text, field);
  const cluster = document.clusters?.[0]?.cluster;
  const user = document.users?.[0]?.user;
  const pem = (data: string | undefined) => Buffer.from(data ?? '', 'base64');
  return {
    server: cluster?.server ?? '',
    trust: readBundle(pem(cluster?.['certificate-authority-data']), `KubernetesSecrets ${field} CA`),
    client: readBundle(pem(user?.['client-certificate-data']), `KubernetesSecrets ${field} client`),
  };
}

function readKubeconfigDocument(text: string, field: string): KubeconfigDocument {
  try {
    return (parse(text) ?? {}) as KubeconfigDocument;
  } catch {
    // Without the cause: a YAML error quotes the line, which may be the key.
    throw new Error(`KubernetesSecrets ${field} is not YAML`);
  }
}

/** The name of this machine's Node object. */
export const NODENAME: ResourceKind<{ readonly nodename: string }> = {
  type: 'Nodenames.kubernetes.talos.dev',
  namespace: 'k8s',
  id: 'nodename',
  decode: (bytes) => ({ nodename: NodenameSpec.decode(bytes).nodename }),
};

/** PodStatus of a static pod as the kubelet of this machine reports it, refreshed every 15 s. IDs are `<ns>/<pod>`. */
export interface StaticPodStatus {
  readonly phase: string;
  readonly ready: boolean;
  /** ms since the epoch; `undefined` while no container runs. The newest container of the pod. */
  readonly startedAt: number | undefined;
  readonly containerId: string;
  readonly restartCount: number;
}

export const STATIC_POD_STATUS: ResourceKind<StaticPodStatus> = {
  type: 'StaticPodStatuses.kubernetes.talos.dev',
  namespace: 'k8s',
  decode: (bytes) => readPodStatus(StaticPodStatusSpec.decode(bytes).podStatus ?? {}),
};

interface PodStatusDocument {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
  readonly containerStatuses?: readonly {
    readonly containerID?: string;
    readonly restartCount?: number;
    readonly state?: { readonly running?: { readonly startedAt?: string } };
  }[];
}

function readPodStatus(document: { readonly [key: string]: unknown }): StaticPodStatus {
  const status = document as PodStatusDocument;
  const container = status.containerStatuses?.[0];
  const startedAt = container?.state?.running?.startedAt;
  return {
    phase: status.phase ?? '',
    ready: status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false,
    startedAt: startedAt === undefined ? undefined : Date.parse(startedAt),
    containerId: container?.containerID ?? '',
    restartCount: container?.restartCount ?? 0,
  };
}

/** Whether something was written to disk, and from which version of its source. */
export interface WrittenStatus {
  readonly ready: boolean;
  readonly version: string;
}

/** Static pod secrets: `version` is that of `KubernetesSecrets`, and becomes the annotation that restarts the pods. */
export const SECRET_STATUS: ResourceKind<WrittenStatus> = {
  type: 'SecretStatuses.kubernetes.talos.dev',
  namespace: 'controlplane',
  id: 'static-pods',
  decode(bytes) {
    const spec = SecretsStatusSpec.decode(bytes);
    return { ready: spec.ready, version: spec.version };
  },
};

/** Static pod configuration files. */
export const CONFIG_STATUS: ResourceKind<WrittenStatus> = {
  type: 'ConfigStatuses.kubernetes.talos.dev',
  namespace: 'controlplane',
  id: 'static-pods',
  decode(bytes) {
    const spec = ConfigStatusSpec.decode(bytes);
    return { ready: spec.ready, version: spec.version };
  },
};
