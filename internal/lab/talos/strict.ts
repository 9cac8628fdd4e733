import { Refusal } from '../../simulator/index.ts';
import { asFields, asList, type Fields, readFullConfiguration } from '../configuration.ts';

/** Fields of the `machine` part of the v1alpha1 document (`pkg/machinery/config/types/v1alpha1`), 1.9 to 1.14. */
const MACHINE_FIELDS: ReadonlySet<string> = new Set([
  ...['type', 'token', 'ca', 'acceptedCAs', 'certSANs', 'controlPlane', 'kubelet', 'pods', 'network', 'disks'],
  ...['install', 'files', 'env', 'time', 'sysctls', 'sysfs', 'registries', 'systemDiskEncryption', 'features'],
  ...['udev', 'logging', 'kernel', 'seccompProfiles', 'baseRuntimeSpecOverrides', 'nodeLabels', 'nodeAnnotations'],
  'nodeTaints',
]);

/** Fields of its `cluster` part. */
const CLUSTER_FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'secret', 'controlPlane', 'clusterName', 'network', 'token', 'aescbcEncryptionSecret'],
  ...['secretboxEncryptionSecret', 'ca', 'acceptedCAs', 'aggregatorCA', 'serviceAccount', 'apiServer'],
  ...['controllerManager', 'proxy', 'scheduler', 'discovery', 'etcd', 'coreDNS', 'externalCloudProvider'],
  ...['extraManifests', 'extraManifestHeaders', 'inlineManifests', 'adminKubeconfig'],
  ...['allowSchedulingOnMasters', 'allowSchedulingOnControlPlanes'],
]);

/**
 * Refuses what Talos's decoder refuses: text that is no configuration, fields that
 * it does not know in the two parts of the v1alpha1 document, and anything but a
 * certificate in a list of accepted CAs.
 *
 * @throws {Refusal} `invalid`
 */
export function checkFields(config: string): void {
  let configuration: ReturnType<typeof readFullConfiguration>;
  try {
    configuration = readFullConfiguration(config);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : 'no configuration');
  }
  const { machine, cluster } = configuration;
  const unknown = [
    ...unknownIn('machine', machine, MACHINE_FIELDS),
    ...unknownIn('cluster', cluster, CLUSTER_FIELDS),
    ...['machine', 'cluster'].flatMap((part) =>
      asList((part === 'machine' ? machine : cluster).acceptedCAs).flatMap((entry, index) =>
        unknownIn(`${part}.acceptedCAs[${index}]`, asFields(entry), new Set(['crt'])),
      ),
    ),
  ];
  if (unknown.length > 0) throw invalid(`unknown keys found during decoding: ${unknown.join(', ')}`);
}

function unknownIn(path: string, fields: Fields, known: ReadonlySet<string>): string[] {
  return Object.keys(fields)
    .filter((name) => !known.has(name))
    .map((name) => `${path}.${name}`);
}

function invalid(why: string): Refusal {
  return new Refusal('invalid', `failed to parse config: ${why}`);
}
