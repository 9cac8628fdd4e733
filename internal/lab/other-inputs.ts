import type { OtherInputs } from '../simulator/index.ts';
import { asFields, asList, asText, type FullConfiguration, readFullConfiguration } from './configuration.ts';

/** Names that certificates are asked to be for, besides those that they have anyway. */
export interface AskedNames {
  readonly machine: readonly string[];
  readonly apiServer: readonly string[];
}

/** Port of KubePrism unless configured (`constants.DefaultKubePrismPort`). */
const KUBE_PRISM_PORT = '7445';
/** Providers that Talos can write into the file of the API server (`k8s.EtcdEncryptionConfig`). */
const PROVIDERS: ReadonlySet<string> = new Set(['secretbox', 'aescbc', 'aesgcm', 'identity', 'kms']);

/** The names that a configuration asks for. */
export function askedNames(configuration: FullConfiguration): AskedNames {
  const typed = configuration.document('KubeAPIServerConfig')?.certExtraSANs;
  const legacy = asFields(configuration.cluster.apiServer).certSANs;
  return {
    machine: asList(configuration.machine.certSANs).map(asText),
    apiServer: asList(typed ?? legacy).map(asText),
  };
}

/** Where the kubelet of a machine finds API servers: KubePrism on the machine itself. */
export function kubePrismPort({ document, machine }: FullConfiguration): string {
  const typed = document('KubePrismConfig')?.port;
  const legacy = asFields(asFields(machine.features).kubePrism).port;
  return asText(typed ?? legacy) || KUBE_PRISM_PORT;
}

/** What a configuration says besides its CAs, as far as a machine of a lab acts on it. */
export function otherInputs(config: string): OtherInputs {
  const configuration = readFullConfiguration(config);
  const { machine, cluster, document } = configuration;
  const names = askedNames(configuration);
  const endpoint = document('KubeClusterConfig')?.endpoint ?? asFields(cluster.controlPlane).endpoint;
  const { ca: _ca, ...etcd } = asFields(cluster.etcd);
  const encryption = encryptionRules(configuration);
  const kubelet = JSON.stringify([cluster.token, kubePrismPort(configuration)]);
  return {
    talos: JSON.stringify([machine.token, names.machine]),
    machineNames: JSON.stringify(names.machine),
    kubernetes: JSON.stringify([
      ...[kubelet, names.apiServer, endpoint, encryption],
      document('KubeServiceAccountConfig') ?? cluster.serviceAccount,
    ]),
    apiServerNames: JSON.stringify([names.apiServer, endpoint]),
    kubelet,
    etcd: JSON.stringify(etcd),
    encryption: encryption.every(isWritable) ? JSON.stringify(encryption) : undefined,
  };
}

function encryptionRules({ document, cluster }: FullConfiguration): readonly unknown[] {
  const typed = document('KubeEtcdEncryptionConfig');
  if (typed !== undefined) return asList(asFields(typed.config).resources);
  return [{ providers: [{ secretbox: cluster.secretboxEncryptionSecret, aescbc: cluster.aescbcEncryptionSecret }] }];
}

function isWritable(rule: unknown): boolean {
  return asList(asFields(rule).providers).every((provider) =>
    Object.keys(asFields(provider)).every((name) => PROVIDERS.has(name)),
  );
}
