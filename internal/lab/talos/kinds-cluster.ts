import { createHash } from 'node:crypto';
import { IdentitySpec, InfoSpec, MemberSpec } from '../../../proto/generated/talos/resources/cluster.ts';
import { MachineType } from '../../../proto/generated/talos/resources/enums.ts';
import {
  ConfigSpec,
  MemberSpec as EtcdMemberSpec,
  PKIStatusSpec,
  SpecSpec,
} from '../../../proto/generated/talos/resources/etcd.ts';
import { memberIdOf, type SimMachine } from '../../simulator/index.ts';
import { asFields, asList, asText } from '../configuration.ts';
import { addressBytes } from './address.ts';
import type { BootFacts } from './boot.ts';
import type { Kind, MadeResource } from './resource-store.ts';

/** The machines of the cluster as discovery knows them, and etcd. */
export const CLUSTER_KINDS: readonly Kind[] = [
  {
    type: 'Members.cluster.talos.dev',
    namespace: 'cluster',
    display: 'Member',
    columns: [
      ['Hostname', '{.hostname}'],
      ['Machine Type', '{.machineType}'],
      ['OS', '{.operatingSystem}'],
      ['Addresses', '{.addresses}'],
    ],
    list: ({ lab }) =>
      lab.world.machines().map((machine) => {
        const isPlane = machine.role === 'controlplane';
        const port = machine.view.apiServerPort ?? 0;
        const nodeId = nodeIdOf(machine);
        const operatingSystem = `Talos (v${machine.version})`;
        return {
          id: machine.name,
          proto: MemberSpec.encode({
            nodeId,
            addresses: [{ ip: addressBytes(machine.address) }],
            hostname: machine.name,
            machineType: isPlane ? MachineType.TYPE_CONTROL_PLANE : MachineType.TYPE_WORKER,
            operatingSystem,
            controlPlane: isPlane ? { apiServerPort: BigInt(port) } : undefined,
          }).finish(),
          yaml: {
            nodeId,
            addresses: [machine.address],
            hostname: machine.name,
            machineType: machine.role,
            operatingSystem,
            ...(isPlane ? { controlPlane: { port } } : {}),
          },
        };
      }),
  },
  {
    type: 'Identities.cluster.talos.dev',
    namespace: 'cluster',
    display: 'Identity',
    columns: [['ID', '{.nodeId}']],
    list: ({ machine }) => {
      const nodeId = nodeIdOf(machine);
      return [{ id: 'local', proto: IdentitySpec.encode({ nodeId }).finish(), yaml: { nodeId } }];
    },
  },
  {
    type: 'Infos.cluster.talos.dev',
    namespace: 'cluster',
    display: 'Info',
    columns: [
      ['Cluster ID', '{.clusterId}'],
      ['Cluster Name', '{.clusterName}'],
    ],
    list: ({ machine: { view } }) => {
      const spec = { clusterId: view.clusterId ?? '', clusterName: view.clusterName ?? '' };
      return [{ id: 'current', proto: InfoSpec.encode(spec).finish(), yaml: spec }];
    },
  },
  {
    type: 'EtcdMembers.etcd.talos.dev',
    namespace: 'etcd',
    display: 'EtcdMember',
    columns: [['Member ID', '{.memberID}']],
    list({ lab: { world }, machine }) {
      if (machine.plane === undefined || !world.etcd.isHealthy(machine)) return [];
      const memberId = memberIdOf(world, machine.name);
      return [{ id: 'local', proto: EtcdMemberSpec.encode({ memberId }).finish(), yaml: { memberID: memberId } }];
    },
  },
  {
    type: 'EtcdConfigs.etcd.talos.dev',
    namespace: 'etcd',
    display: 'EtcdConfig',
    list: (facts) => (facts.machine.plane === undefined ? [] : [etcdConfig(facts)]),
  },
  {
    type: 'EtcdSpecs.etcd.talos.dev',
    namespace: 'etcd',
    display: 'EtcdSpec',
    list: (facts) => (facts.machine.plane === undefined ? [] : [etcdSpec(facts)]),
  },
  {
    type: 'PKIStatuses.etcd.talos.dev',
    namespace: 'etcd',
    display: 'PKIStatus',
    columns: [
      ['Ready', '{.ready}'],
      ['Secrets Version', '{.version}'],
    ],
    list({ machine }) {
      if (machine.plane === undefined) return [];
      const spec = { ready: true, version: String(machine.versions.get('EtcdSecrets') ?? 1n) };
      return [
        {
          id: 'etcd',
          version: machine.versions.get('PKIStatus') ?? 1n,
          proto: PKIStatusSpec.encode(spec).finish(),
          yaml: spec,
        },
      ];
    },
  },
];

const ETCD_IMAGE = 'registry.k8s.io/etcd:v3.6.12';

/** What the configuration says of etcd besides its CA. */
function etcdFields({ configuration }: BootFacts) {
  const etcd = asFields(configuration().cluster.etcd);
  const texts = (value: unknown): string[] => asList(value).map(asText);
  const extraArgs = Object.fromEntries(
    Object.entries(asFields(etcd.extraArgs)).map(([name, value]) => [
      name,
      { values: Array.isArray(value) ? texts(value) : [asText(value)] },
    ]),
  );
  return {
    image: asText(etcd.image) || ETCD_IMAGE,
    advertiseValidSubnets: texts(etcd.advertisedSubnets),
    listenValidSubnets: texts(etcd.listenSubnets),
    extraArgs,
  };
}

function etcdConfig(facts: BootFacts): MadeResource {
  const spec = { ...etcdFields(facts), advertiseExcludeSubnets: [], listenExcludeSubnets: [] };
  const version = facts.machine.versions.get('EtcdConfig') ?? 1n;
  return { id: 'etcd', version, proto: ConfigSpec.encode(spec).finish(), yaml: spec };
}

function etcdSpec(facts: BootFacts): MadeResource {
  const { machine } = facts;
  const { image, extraArgs } = etcdFields(facts);
  const own = [{ ip: addressBytes(machine.address) }];
  const addresses = { advertisedAddresses: own, listenPeerAddresses: own, listenClientAddresses: own };
  const texts = Object.fromEntries(Object.keys(addresses).map((name) => [name, [machine.address]]));
  return {
    id: 'etcd',
    version: machine.versions.get('EtcdSpec') ?? 1n,
    proto: SpecSpec.encode({ name: machine.name, image, extraArgs, ...addresses }).finish(),
    yaml: { name: machine.name, ...texts, image, extraArgs },
  };
}

/** The identity of a machine in discovery; stays over boots. */
function nodeIdOf({ name, address }: SimMachine): string {
  return createHash('sha256').update(`${name}/${address}`).digest('base64url');
}
