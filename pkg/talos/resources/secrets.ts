import {
  APICertsSpec,
  EtcdCertsSpec,
  EtcdRootSpec,
  KubeletSpec,
  KubernetesDynamicCertsSpec,
  OSRootSpec,
  TrustdCertsSpec,
} from '../../../proto/generated/talos/resources/secrets.ts';
import type { Certificate } from '../../pki/index.ts';
import { type CertificatesOfKey, readAccepted, readAddress, readPair } from '../fields.ts';
import type { ResourceKind } from '../resource.ts';

const NAMESPACE = 'secrets';

/** CAs of the Talos API. On a worker `issuing` is undefined and `accepted` is its own list, not the one that apid uses. */
export interface OsRoot {
  readonly issuing: CertificatesOfKey | undefined;
  /** `machine.acceptedCAs` in order, the issuing one appended last. */
  readonly accepted: readonly Certificate[];
  readonly sanIps: readonly string[];
  readonly sanDnsNames: readonly string[];
}

export const OS_ROOT: ResourceKind<OsRoot> = {
  type: 'OSRootSecrets.secrets.talos.dev',
  namespace: NAMESPACE,
  id: 'os',
  decode(bytes) {
    const spec = OSRootSpec.decode(bytes);
    return {
      issuing: readPair(spec.issuingCa, 'OSRootSecrets/os issuingCA'),
      accepted: readAccepted(spec.acceptedCAs, 'OSRootSecrets/os acceptedCAs'),
      sanIps: spec.certSaniPs.map((address) => readAddress(address.ip)),
      sanDnsNames: spec.certSandnsNames,
    };
  },
};

/** The etcd CA, which is also etcd's and the API server's trust: a bundle during a rotation. Control planes only. */
export interface EtcdRoot {
  readonly ca: CertificatesOfKey | undefined;
}

export const ETCD_ROOT: ResourceKind<EtcdRoot> = {
  type: 'EtcdRootSecrets.secrets.talos.dev',
  namespace: NAMESPACE,
  id: 'etcd',
  decode: (bytes) => ({ ca: readPair(EtcdRootSpec.decode(bytes).etcdCa, 'EtcdRootSecrets/etcd etcdCA') }),
};

/** The four leaves of the etcd CA on this machine. Control planes only. */
export interface EtcdCertificates {
  readonly server: CertificatesOfKey | undefined;
  readonly peer: CertificatesOfKey | undefined;
  readonly admin: CertificatesOfKey | undefined;
  readonly apiServer: CertificatesOfKey | undefined;
}

export const ETCD_CERTIFICATES: ResourceKind<EtcdCertificates> = {
  type: 'EtcdSecrets.secrets.talos.dev',
  namespace: NAMESPACE,
  id: 'etcd',
  decode(bytes) {
    const spec = EtcdCertsSpec.decode(bytes);
    return {
      server: readPair(spec.etcd, 'EtcdSecrets/etcd etcd'),
      peer: readPair(spec.etcdPeer, 'EtcdSecrets/etcd etcdPeer'),
      admin: readPair(spec.etcdAdmin, 'EtcdSecrets/etcd etcdAdmin'),
      apiServer: readPair(spec.etcdApiServer, 'EtcdSecrets/etcd etcdAPIServer'),
    };
  },
};

/** Leaves of the API server: serving (with the issuing CA behind it), towards kubelets, towards aggregated API servers. */
export interface KubernetesDynamicCertificates {
  readonly apiServer: CertificatesOfKey | undefined;
  readonly kubeletClient: CertificatesOfKey | undefined;
  readonly frontProxy: CertificatesOfKey | undefined;
}

export const KUBERNETES_DYNAMIC_CERTIFICATES: ResourceKind<KubernetesDynamicCertificates> = {
  type: 'KubernetesDynamicCerts.secrets.talos.dev',
  namespace: NAMESPACE,
  id: 'k8s-dynamic-certs',
  decode(bytes) {
    const spec = KubernetesDynamicCertsSpec.decode(bytes);
    return {
      apiServer: readPair(spec.apiServer, 'KubernetesDynamicCerts apiServer'),
      kubeletClient: readPair(spec.apiServerKubeletClient, 'KubernetesDynamicCerts apiServerKubeletClient'),
      frontProxy: readPair(spec.frontProxy, 'KubernetesDynamicCerts frontProxy'),
    };
  },
};

/** What apid serves, and whom it accepts: on a worker the list that trustd of a control plane gave it. */
export interface ApiCertificates {
  readonly server: CertificatesOfKey | undefined;
  readonly client: CertificatesOfKey | undefined;
  readonly accepted: readonly Certificate[];
}

export const API_CERTIFICATES: ResourceKind<ApiCertificates> = {
  type: 'ApiCertificates.secrets.talos.dev',
  namespace: NAMESPACE,
  id: 'api',
  decode(bytes) {
    const spec = APICertsSpec.decode(bytes);
    return {
      server: readPair(spec.server, 'ApiCertificates/api server'),
      client: readPair(spec.client, 'ApiCertificates/api client'),
      accepted: readAccepted(spec.acceptedCAs, 'ApiCertificates/api acceptedCAs'),
    };
  },
};

/** What trustd serves. Control planes only. */
export interface TrustdCertificates {
  readonly server: CertificatesOfKey | undefined;
  readonly accepted: readonly Certificate[];
}

export const TRUSTD_CERTIFICATES: ResourceKind<TrustdCertificates> = {
  type: 'TrustdCertificates.secrets.talos.dev',
  namespace: NAMESPACE,
  id: 'trustd',
  decode(bytes) {
    const spec = TrustdCertsSpec.decode(bytes);
    return {
      server: readPair(spec.server, 'TrustdCertificates/trustd server'),
      accepted: readAccepted(spec.acceptedCAs, 'TrustdCertificates/trustd acceptedCAs'),
    };
  },
};

/** The Kubernetes CAs that the kubelet trusts; a change of this list, its order included, restarts the kubelet. */
export interface KubeletSecrets {
  readonly endpoint: string;
  readonly accepted: readonly Certificate[];
}

export const KUBELET_SECRETS: ResourceKind<KubeletSecrets> = {
  type: 'KubeletSecrets.secrets.talos.dev',
  namespace: NAMESPACE,
  id: 'kubelet',
  decode(bytes) {
    const spec = KubeletSpec.decode(bytes);
    return {
      endpoint: spec.endpoint?.fullPath ?? '',
      accepted: readAccepted(spec.acceptedCAs, 'KubeletSecrets/kubelet acceptedCAs'),
    };
  },
};
