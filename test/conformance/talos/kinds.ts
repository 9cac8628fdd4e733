import {
  API_CERTIFICATES,
  CONFIG_STATUS,
  ETCD_CERTIFICATES,
  ETCD_ROOT,
  KUBELET_SECRETS,
  KUBERNETES_CERTIFICATES,
  KUBERNETES_DYNAMIC_CERTIFICATES,
  KUBERNETES_ROOT,
  OS_ROOT,
  PKI_STATUS,
  type ResourceKind,
  SECRET_STATUS,
  TRUSTD_CERTIFICATES,
} from '../../../pkg/talos/index.ts';

/** Every resource that a change of a CA or key may move. */
export const PKI_KINDS: Readonly<Record<string, ResourceKind<unknown>>> = {
  OSRoot: OS_ROOT,
  ApiCertificates: API_CERTIFICATES,
  TrustdCertificates: TRUSTD_CERTIFICATES,
  KubernetesRoot: KUBERNETES_ROOT,
  KubernetesSecrets: KUBERNETES_CERTIFICATES,
  KubernetesDynamicCerts: KUBERNETES_DYNAMIC_CERTIFICATES,
  KubeletSecrets: KUBELET_SECRETS,
  EtcdRoot: ETCD_ROOT,
  EtcdSecrets: ETCD_CERTIFICATES,
  PKIStatus: PKI_STATUS,
  SecretStatus: SECRET_STATUS,
  ConfigStatus: CONFIG_STATUS,
};

/** What every apply moves, whatever it changes. */
export const ALWAYS = ['MachineConfig/active', 'MachineConfig/persistent'];

/** What a change of the Talos CAs or the trustd token moves. */
export const TALOS_CHAIN = ['ApiCertificates', 'OSRoot', 'TrustdCertificates'];

/** What any change of Kubernetes material moves, and what it restarts. */
export const KUBERNETES_CHAIN = ['KubernetesDynamicCerts', 'KubernetesRoot', 'KubernetesSecrets', 'SecretStatus'];
export const STATIC_PODS = ['pod:kube-apiserver', 'pod:kube-controller-manager', 'pod:kube-scheduler'];

/** What a change of the etcd CA moves. */
export const ETCD_CHAIN = ['EtcdRoot', 'EtcdSecrets', 'PKIStatus'];

/** The certificate that a kubelet shows API servers, and its key. */
export const KUBELET_CLIENT = '/var/lib/kubelet/pki/kubelet-client-current.pem';
