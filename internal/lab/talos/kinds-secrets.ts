import { isIP } from 'node:net';
import type { Certificate, Fingerprint } from '../../../pkg/pki/index.ts';
import type {
  ApiCertificates,
  CertificatesOfKey,
  EtcdCertificates,
  EtcdRoot,
  KubeletSecrets,
  KubernetesDynamicCertificates,
  KubernetesRoot,
  OsRoot,
  TrustdCertificates,
} from '../../../pkg/talos/index.ts';
import {
  APICertsSpec,
  CertSANSpec,
  EtcdCertsSpec,
  EtcdRootSpec,
  KubeletSpec,
  KubernetesCertsSpec,
  KubernetesDynamicCertsSpec,
  KubernetesRootSpec,
  OSRootSpec,
  TrustdCertsSpec,
} from '../../../proto/generated/talos/resources/secrets.ts';
import { type CertificateUse, specOf } from '../../simulator/index.ts';
import { acceptedServiceAccountKeys, asFields, asText, serviceAccountKeyOf } from '../configuration.ts';
import { kubeconfigText } from '../credentials.ts';
import { askedNames } from '../other-inputs.ts';
import { addressBytes } from './address.ts';
import type { BootFacts } from './boot.ts';
import type { Kind, MadeResource } from './resource-store.ts';

/** A CA or leaf on the wire and in YAML; both hold PEM, the latter in base64. */
interface Pair {
  readonly crt: Buffer;
  readonly key: Buffer;
}

/** Everything that holds keys: what the world's machines have, with the keys that belong to it. */
export const SECRET_KINDS: readonly Kind[] = [
  secretKind('OSRootSecrets', 'OSRootSecret', 'os', (facts, spec: OsRoot) => {
    const { machine } = facts.configuration();
    const issuingCa = pairOf(facts, spec.issuing);
    const token = asText(machine.token);
    const acceptedCAs = listOf(spec.accepted);
    return {
      proto: OSRootSpec.encode({ issuingCa, certSaniPs: [], certSandnsNames: [], token, acceptedCAs }).finish(),
      yaml: {
        ...(issuingCa && { issuingCA: textOf(issuingCa) }),
        acceptedCAs: acceptedCAs.map(certificateText),
        certSANIPs: [],
        certSANDNSNames: [],
        token,
      },
    };
  }),
  secretKind('ApiCertificates', 'APICertificate', 'api', (facts, spec: ApiCertificates) => {
    const server = pairOf(facts, spec.server);
    const client = facts.machine.role === 'worker' ? undefined : pairOf(facts, spec.client);
    const acceptedCAs = listOf(spec.accepted);
    return {
      proto: APICertsSpec.encode({ client, server, acceptedCAs, skipVerifyingClientCert: false }).finish(),
      yaml: {
        acceptedCAs: acceptedCAs.map(certificateText),
        ...(client && { client: textOf(client) }),
        ...(server && { server: textOf(server) }),
      },
    };
  }),
  secretKind('TrustdCertificates', 'TrustdCertificate', 'trustd', (facts, spec: TrustdCertificates) => {
    const server = pairOf(facts, spec.server);
    const acceptedCAs = listOf(spec.accepted);
    return {
      proto: TrustdCertsSpec.encode({ server, acceptedCAs }).finish(),
      yaml: { acceptedCAs: acceptedCAs.map(certificateText), ...(server && { server: textOf(server) }) },
    };
  }),
  secretKind('KubeletSecrets', 'KubeletSecret', 'kubelet', (facts, spec: KubeletSecrets) => {
    const [id = '', secret = ''] = asText(facts.configuration().cluster.token).split('.');
    const acceptedCAs = listOf(spec.accepted);
    return {
      proto: KubeletSpec.encode({
        endpoint: { fullPath: spec.endpoint },
        bootstrapTokenId: id,
        bootstrapTokenSecret: secret,
        acceptedCAs,
        endpointTlsServerName: '',
      }).finish(),
      yaml: {
        endpoint: spec.endpoint,
        acceptedCAs: acceptedCAs.map(certificateText),
        bootstrapTokenID: id,
        bootstrapTokenSecret: secret,
      },
    };
  }),
  secretKind('EtcdRootSecrets', 'EtcdRootSecret', 'etcd', (facts, spec: EtcdRoot) => {
    const etcdCa = pairOf(facts, spec.ca);
    return {
      proto: EtcdRootSpec.encode({ etcdCa }).finish(),
      yaml: { ...(etcdCa && { etcdCA: textOf(etcdCa) }) },
    };
  }),
  secretKind('EtcdSecrets', 'EtcdSecret', 'etcd', (facts, spec: EtcdCertificates) => {
    const pairs = {
      etcd: pairOf(facts, spec.server),
      etcdPeer: pairOf(facts, spec.peer),
      etcdAdmin: pairOf(facts, spec.admin),
      etcdApiServer: pairOf(facts, spec.apiServer),
    };
    const named = Object.entries(pairs).map(([name, pair]) => [name.replace('Api', 'API'), pair && textOf(pair)]);
    return { proto: EtcdCertsSpec.encode(pairs).finish(), yaml: Object.fromEntries(named) };
  }),
  {
    type: 'CertSANs.secrets.talos.dev',
    namespace: 'secrets',
    display: 'CertSAN',
    isSensitive: true,
    list: certificateNames,
  },
  secretKind('KubernetesRootSecrets', 'KubernetesRootSecret', 'k8s', kubernetesRoot),
  secretKind('KubernetesDynamicCerts', 'KubernetesDynamicCert', 'k8s-dynamic-certs', kubernetesDynamic),
  {
    type: 'KubernetesSecrets.secrets.talos.dev',
    namespace: 'secrets',
    display: 'KubernetesSecret',
    isSensitive: true,
    list: kubernetesSecrets,
  },
];

function secretKind<Spec>(
  name: string,
  display: string,
  id: string,
  encode: (facts: BootFacts, spec: Spec) => Pick<MadeResource, 'proto' | 'yaml'>,
): Kind {
  const type = `${name}.secrets.talos.dev`;
  return {
    type,
    namespace: 'secrets',
    display,
    isSensitive: true,
    list(facts) {
      const { lab, machine } = facts;
      const found = specOf(lab.world, machine, type);
      if (found === undefined) return [];
      return [{ id, version: machine.versions.get(found.name) ?? 1n, ...encode(facts, found.spec as Spec) }];
    },
  };
}

function kubernetesRoot(facts: BootFacts, spec: KubernetesRoot): Pick<MadeResource, 'proto' | 'yaml'> {
  const configuration = facts.configuration();
  const issuingCa = pairOf(facts, spec.issuing);
  const aggregatorCa = pairOf(facts, spec.aggregator);
  const acceptedCAs = listOf(spec.accepted);
  const acceptedAggregatorCAs = listOf(spec.acceptedAggregator);
  const [bootstrapTokenId = '', bootstrapTokenSecret = ''] = asText(configuration.cluster.token).split('.');
  const serviceAccount = { key: Buffer.from(serviceAccountKeyOf(configuration)) };
  const accepted = acceptedServiceAccountKeys(configuration);
  const encryption = configuration.document('KubeEtcdEncryptionConfig');
  const etcdEncryptionConfig = encryption === undefined ? undefined : asFields(encryption.config);
  const secretbox = asText(configuration.cluster.secretboxEncryptionSecret);
  const aescbc = asText(configuration.cluster.aescbcEncryptionSecret);
  const { clusterName: name, endpoint, issuerUrl } = spec;
  return {
    proto: KubernetesRootSpec.encode(
      KubernetesRootSpec.fromPartial({
        name,
        endpoint: { fullPath: endpoint },
        localEndpoint: { fullPath: 'https://localhost:7445' },
        dnsDomain: 'cluster.local',
        ...(issuingCa && { issuingCa }),
        ...(aggregatorCa && { aggregatorCa }),
        serviceAccount,
        aescbcEncryptionSecret: aescbc,
        secretboxEncryptionSecret: secretbox,
        bootstrapTokenId,
        bootstrapTokenSecret,
        apiServerIps: [{ ip: addressBytes(facts.machine.address) }],
        acceptedCAs,
        etcdEncryptionConfig,
        acceptedAggregatorCAs,
        serviceAccountAcceptedKeys: accepted.map((pem) => ({ key: Buffer.from(pem) })),
        issuerUrl,
      }),
    ).finish(),
    yaml: {
      name,
      endpoint,
      local_endpoint: 'https://localhost:7445',
      certSANs: [],
      apiServerIPs: [facts.machine.address],
      dnsDomain: 'cluster.local',
      ...(issuingCa && { issuingCA: textOf(issuingCa) }),
      acceptedCAs: acceptedCAs.map(certificateText),
      ...(aggregatorCa && { aggregatorCA: textOf(aggregatorCa) }),
      acceptedAggregatorCAs: acceptedAggregatorCAs.map(certificateText),
      serviceAccount: { key: serviceAccount.key.toString('base64') },
      serviceAccountAcceptedKeys: accepted.map((pem) => ({ key: Buffer.from(pem).toString('base64') })),
      issuerURL: issuerUrl,
      ...(aescbc === '' ? {} : { aesCBCEncryptionSecret: aescbc }),
      ...(secretbox === '' ? {} : { secretboxEncryptionSecret: secretbox }),
      ...(etcdEncryptionConfig && { etcdEncryptionConfig }),
      bootstrapTokenID: bootstrapTokenId,
      bootstrapTokenSecret,
    },
  };
}

function kubernetesDynamic(
  facts: BootFacts,
  spec: KubernetesDynamicCertificates,
): Pick<MadeResource, 'proto' | 'yaml'> {
  const apiServer = pairOf(facts, spec.apiServer);
  const apiServerKubeletClient = pairOf(facts, spec.kubeletClient);
  const frontProxy = pairOf(facts, spec.frontProxy);
  return {
    proto: KubernetesDynamicCertsSpec.encode({ apiServer, apiServerKubeletClient, frontProxy }).finish(),
    yaml: {
      ...(apiServer && { apiServer: textOf(apiServer) }),
      ...(apiServerKubeletClient && { apiServerKubeletClient: textOf(apiServerKubeletClient) }),
      ...(frontProxy && { frontProxy: textOf(frontProxy) }),
    },
  };
}

/** The names that certificates of the machine, and of the API server on it, are for. */
function certificateNames(facts: BootFacts): MadeResource[] {
  const { machine } = facts;
  const asked = askedNames(facts.configuration());
  const made = (id: string, names: readonly string[]): MadeResource => {
    const ips = [machine.address, ...names.filter((name) => isIP(name) !== 0)];
    const dnsNames = [machine.name, ...names.filter((name) => isIP(name) === 0)];
    const addresses = ips.map((ip) => ({ ip: addressBytes(ip) }));
    return {
      id,
      version: machine.versions.get(`CertSAN/${id}`) ?? 1n,
      proto: CertSANSpec.encode({ iPs: addresses, dnsNames, fqdn: machine.name }).finish(),
      yaml: { ips, dnsNames, fqdn: machine.name },
    };
  };
  return [made('api', asked.machine), ...(machine.plane === undefined ? [] : [made('k8s', asked.apiServer)])];
}

function kubernetesSecrets({ lab, machine }: BootFacts): MadeResource[] {
  const ca = machine.taken.kubernetes;
  if (ca === undefined) return [];
  const kubeconfig = (use: CertificateUse, server: string): string => {
    const { certificate, key } = lab.certificates.leaf(machine, use, ca.issuing.fingerprint);
    const clusterName = machine.view.clusterName ?? '';
    return kubeconfigText({ clusterName, server, trust: ca.accepted, certificate, key: key.expose() });
  };
  const local = `https://localhost:${machine.view.apiServerPort}`;
  const spec = {
    schedulerKubeconfig: kubeconfig('scheduler-client', local),
    controllerManagerKubeconfig: kubeconfig('controller-manager-client', local),
    localhostAdminKubeconfig: kubeconfig('admin-client', local),
    adminKubeconfig: kubeconfig('admin-client', machine.view.endpoint ?? local),
  };
  const version = machine.versions.get('KubernetesSecrets') ?? 1n;
  return [{ id: 'k8s-certs', version, proto: KubernetesCertsSpec.encode(spec).finish(), yaml: spec }];
}

function pairOf({ lab }: BootFacts, pair: CertificatesOfKey | undefined): Pair | undefined {
  if (pair === undefined) return undefined;
  const key = keyText(lab.certificates.key.bind(lab.certificates), pair.keyFingerprint);
  return { crt: Buffer.from(pair.certificates.map(({ pem }) => pem).join('')), key: Buffer.from(key) };
}

function keyText(find: BootFacts['lab']['certificates']['key'], fingerprint: Fingerprint | undefined): string {
  return fingerprint === undefined ? '' : (find(fingerprint)?.expose() ?? '');
}

function listOf(certificates: readonly Certificate[]): { crt: Buffer }[] {
  return certificates.map(({ pem }) => ({ crt: Buffer.from(pem) }));
}

function textOf({ crt, key }: Pair): { crt: string; key: string } {
  return { crt: crt.toString('base64'), key: key.toString('base64') };
}

function certificateText({ crt }: { readonly crt: Buffer }): { crt: string } {
  return { crt: crt.toString('base64') };
}
