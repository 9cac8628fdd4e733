// Public: what other parts of Ichor build on.
export { APID_PORT, createTalosMachine, type TalosMachineOptions } from './client.ts';
export { addressOfEndpoint } from './endpoint.ts';
export { type CallOutcome, isTalosError, TalosError, type TalosErrorKind } from './errors.ts';
export { type CertificatesOfKey, publicKeyFingerprint } from './fields.ts';
export type {
  ApplyMode,
  ApplyRequest,
  ApplyResult,
  CallOptions,
  ConfigurationKind,
  ContainerStatus,
  Deadlines,
  EtcdAlarm,
  EtcdMember,
  EtcdMemberId,
  EtcdStatus,
  Identity,
  IssuedIdentity,
  MachineConfiguration,
  MachineEvent,
  MachineTime,
  RebootMode,
  ServiceStatus,
  TalosEtcd,
  TalosMachine,
  TalosVersion,
} from './machine.ts';
export {
  probeTls,
  proveRefused,
  type RefusalProof,
  type TlsProbe,
  type TlsProbeOptions,
  type TlsVerdict,
} from './probe.ts';
export type { Resource, ResourceEvent, ResourceKind, ResourceMetadata } from './resource.ts';
export { type EncryptionEntry, type EncryptionKeyReference, encryptionKeyFingerprint } from './resources/encryption.ts';
export {
  CONFIG_STATUS,
  KUBERNETES_CERTIFICATES,
  KUBERNETES_ROOT,
  type KubeconfigCertificates,
  type KubernetesCertificates,
  type KubernetesRoot,
  NODENAME,
  SECRET_STATUS,
  STATIC_POD_STATUS,
  type StaticPodStatus,
  type WrittenStatus,
} from './resources/kubernetes.ts';
export {
  BOOT_ID,
  MACHINE_STATUS,
  MACHINE_TYPE,
  type MachineRole,
  type MachineStage,
  type MachineStatus,
  MEMBER,
  type Member,
  PKI_STATUS,
  SERVICE,
  type ServiceResource,
} from './resources/machine.ts';
export {
  API_CERTIFICATES,
  type ApiCertificates,
  ETCD_CERTIFICATES,
  ETCD_ROOT,
  type EtcdCertificates,
  type EtcdRoot,
  KUBELET_SECRETS,
  KUBERNETES_DYNAMIC_CERTIFICATES,
  type KubeletSecrets,
  type KubernetesDynamicCertificates,
  OS_ROOT,
  type OsRoot,
  TRUSTD_CERTIFICATES,
  type TrustdCertificates,
} from './resources/secrets.ts';
export {
  mergeTalosconfig,
  parseTalosconfig,
  selectContext,
  type TalosContext,
  type Talosconfig,
  TalosconfigError,
  writeTalosconfig,
} from './talosconfig.ts';
export { readTalosconfigFile, writeTalosconfigFile } from './talosconfig-file.ts';
export type { TrustReason } from './transport/trust.ts';
