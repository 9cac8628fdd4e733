import type { Certificate } from '../../pkg/pki/index.ts';
import type {
  ApiCertificates,
  CertificatesOfKey,
  EtcdCertificates,
  EtcdRoot,
  KubeconfigCertificates,
  KubeletSecrets,
  KubernetesCertificates,
  KubernetesDynamicCertificates,
  KubernetesRoot,
  OsRoot,
  TrustdCertificates,
  WrittenStatus,
} from '../../pkg/talos/index.ts';
import type { CertificateUse } from './issuer.ts';
import type { SimMachine } from './machine.ts';
import type { World } from './world.ts';

/** A resource of a machine: the name under which its version is counted, and its spec as the client decodes it. */
export interface SimResource {
  readonly name: string;
  readonly spec: unknown;
}

/** What a machine has under a resource type; undefined for a type that it does not have. */
export function specOf(world: World, machine: SimMachine, type: string): SimResource | undefined {
  const read = READERS[type.split('.')[0] ?? ''];
  return read?.(world, machine);
}

type Reader = (world: World, machine: SimMachine) => SimResource | undefined;

function withKey(certificate: Certificate | undefined): CertificatesOfKey | undefined {
  if (certificate === undefined) return undefined;
  return { certificates: [certificate], keyFingerprint: certificate.publicKeyFingerprint };
}

/** Files of a control plane that were written out of a resource, which they name the version of. */
function written({ plane, versions }: SimMachine, name: string, from: string): SimResource | undefined {
  if (plane === undefined) return undefined;
  const spec: WrittenStatus = { ready: true, version: String(versions.get(from) ?? 1n) };
  return { name, spec };
}

const READERS: Readonly<Record<string, Reader>> = {
  OSRootSecrets: (_world, { taken }) => {
    const spec: OsRoot = {
      issuing: withKey(taken.talos.issuing),
      accepted: taken.talos.accepted,
      sanIps: [],
      sanDnsNames: [],
    };
    return { name: 'OSRoot', spec };
  },
  ApiCertificates: (world, machine) => {
    const { api } = machine;
    const spec: ApiCertificates = {
      server: world.mint.pair(api.issuer, { machine, use: 'apid-server' }),
      // A worker calls no other machine: it has no client certificate.
      client: machine.plane === undefined ? undefined : world.mint.pair(api.issuer, { machine, use: 'apid-client' }),
      accepted: api.accepted,
    };
    return { name: 'ApiCertificates', spec };
  },
  TrustdCertificates: (world, machine) => {
    const { api, plane } = machine;
    if (plane === undefined) return undefined;
    const spec: TrustdCertificates = {
      server: world.mint.pair(api.issuer, { machine, use: 'trustd-server' }),
      accepted: api.accepted,
    };
    return { name: 'TrustdCertificates', spec };
  },
  KubeletSecrets: (_world, { taken, view }) => {
    const spec: KubeletSecrets = { endpoint: view.endpoint ?? '', accepted: taken.kubelet };
    return { name: 'KubeletSecrets', spec };
  },
  EtcdRootSecrets: (_world, { taken, view }) => {
    if (taken.etcd === undefined) return undefined;
    const spec: EtcdRoot = {
      ca: { certificates: taken.etcd.bundle, keyFingerprint: view.etcd?.keyFingerprint },
    };
    return { name: 'EtcdRoot', spec };
  },
  EtcdSecrets: (world, machine) => {
    const { plane } = machine;
    if (plane === undefined) return undefined;
    const pair = (use: CertificateUse): CertificatesOfKey => world.mint.pair(plane.etcdLeaf, { machine, use });
    const spec: EtcdCertificates = {
      server: pair('etcd-server'),
      peer: pair('etcd-peer'),
      admin: pair('etcd-admin'),
      apiServer: pair('etcd-apiserver'),
    };
    return { name: 'EtcdSecrets', spec };
  },
  KubernetesRootSecrets: (_world, { taken, view }) => {
    if (taken.kubernetes === undefined) return undefined;
    const spec: KubernetesRoot = {
      clusterName: view.clusterName ?? '',
      endpoint: view.endpoint ?? '',
      issuing: withKey(taken.kubernetes.issuing),
      accepted: taken.kubernetes.accepted,
      aggregator: withKey(taken.aggregator?.issuing),
      acceptedAggregator: taken.aggregator?.accepted ?? [],
      serviceAccountKey: view.serviceAccount?.issuer,
      acceptedServiceAccountKeys: view.serviceAccount?.accepted ?? [],
      legacyEncryption: [],
      encryption: [],
      issuerUrl: view.serviceAccount?.issuerUrl ?? '',
      apiServerIps: [],
    };
    return { name: 'KubernetesRoot', spec };
  },
  KubernetesSecrets: (world, machine) => {
    const { taken, view } = machine;
    if (taken.kubernetes === undefined) return undefined;
    const { issuing, accepted } = taken.kubernetes;
    const holding = (use: CertificateUse): KubeconfigCertificates => ({
      server: view.endpoint ?? '',
      trust: accepted,
      client: world.mint.pair(issuing.fingerprint, { machine, use }).certificates,
    });
    const spec: KubernetesCertificates = {
      scheduler: holding('scheduler-client'),
      controllerManager: holding('controller-manager-client'),
      localhostAdmin: holding('admin-client'),
      admin: holding('admin-client'),
    };
    return { name: 'KubernetesSecrets', spec };
  },
  SecretStatuses: (_world, machine) => written(machine, 'SecretStatus', 'KubernetesSecrets'),
  PKIStatuses: (_world, machine) => written(machine, 'PKIStatus', 'EtcdSecrets'),
  KubernetesDynamicCerts: (world, machine) => {
    const { taken } = machine;
    if (taken.kubernetes === undefined) return undefined;
    const { fingerprint } = taken.kubernetes.issuing;
    const server = world.mint.pair(fingerprint, { machine, use: 'kube-apiserver' });
    const spec: KubernetesDynamicCertificates = {
      apiServer: { ...server, certificates: [...server.certificates, taken.kubernetes.issuing] },
      kubeletClient: world.mint.pair(fingerprint, { machine, use: 'apiserver-kubelet-client' }),
      frontProxy:
        taken.aggregator === undefined
          ? undefined
          : world.mint.pair(taken.aggregator.issuing.fingerprint, { machine, use: 'front-proxy' }),
    };
    return { name: 'KubernetesDynamicCerts', spec };
  },
};
