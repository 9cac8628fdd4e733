import { MachineConfigSpec, MachineTypeSpec } from '../../../proto/generated/talos/resources/config.ts';
import { RuntimeMachineStage } from '../../../proto/generated/talos/resources/enums.ts';
import { HostnameStatusSpec, NodeAddressSpec } from '../../../proto/generated/talos/resources/network.ts';
import {
  APIServiceConfigSpec,
  BootIDSpec,
  MachineStatusSpec,
  VersionSpec,
} from '../../../proto/generated/talos/resources/runtime.ts';
import { ServiceSpec } from '../../../proto/generated/talos/resources/v1alpha1.ts';
import { configurationOf, Refusal } from '../../simulator/index.ts';
import { addressBytes } from './address.ts';
import type { BootFacts } from './boot.ts';
import type { Kind, MadeResource } from './resource-store.ts';

/** Configuration, services, status, boot and network of the machine itself. */
export const RUNTIME_KINDS: readonly Kind[] = [
  {
    type: 'MachineConfigs.config.talos.dev',
    namespace: 'config',
    display: 'MachineConfig',
    isSensitive: true,
    list: ({ machine }) => [
      configuration('v1alpha1', configurationOf(machine, 'active')),
      ...persistent(machine).map((stored) => configuration('persistent', stored)),
    ],
  },
  {
    type: 'MachineTypes.config.talos.dev',
    namespace: 'config',
    display: 'MachineType',
    columns: [['Type', '{}']],
    list: ({ machine }) => [
      {
        id: 'machine-type',
        proto: MachineTypeSpec.encode({ machineType: machine.role === 'controlplane' ? 2 : 3 }).finish(),
        yaml: `${machine.role}\n`,
      },
    ],
  },
  {
    type: 'Services.v1alpha1.talos.dev',
    namespace: 'runtime',
    display: 'Service',
    columns: [
      ['Running', '{.running}'],
      ['Healthy', '{.healthy}'],
      ['Health Unknown', '{.unknown}'],
    ],
    // A service has a resource only while it runs.
    list: ({ services }) =>
      services
        .list()
        .filter(({ state }) => state === 'Running')
        .map(({ id, healthy }) => {
          const spec = { running: true, healthy: healthy ?? false, unknown: healthy === undefined };
          return { id, proto: ServiceSpec.encode(spec).finish(), yaml: spec };
        }),
  },
  {
    type: 'MachineStatuses.runtime.talos.dev',
    namespace: 'runtime',
    display: 'MachineStatus',
    columns: [
      ['Stage', '{.stage}'],
      ['Ready', '{.status.ready}'],
    ],
    list: (facts) => [machineStatus(facts)],
  },
  {
    type: 'BootIDs.runtime.talos.dev',
    namespace: 'runtime',
    display: 'BootID',
    columns: [['Boot ID', '{.bootID}']],
    list: ({ id }) => [{ id: 'boot-id', proto: BootIDSpec.encode({ bootId: id }).finish(), yaml: { bootID: id } }],
  },
  {
    type: 'Versions.runtime.talos.dev',
    namespace: 'runtime',
    display: 'Version',
    columns: [['Version', '{.version}']],
    list: ({ machine }) => {
      const version = `v${machine.version}`;
      return [
        {
          id: 'version',
          proto: VersionSpec.encode({ version, name: 'Talos' }).finish(),
          yaml: { version, name: 'Talos' },
        },
      ];
    },
  },
  {
    type: 'APIServiceConfigs.runtime.talos.dev',
    namespace: 'runtime',
    display: 'APIServiceConfig',
    list: () => {
      const spec = {
        listenAddress: ':50000',
        nodeRoutingDisabled: false,
        readonlyRoleMode: false,
        skipVerifyingClientCert: false,
      };
      return [{ id: 'apid', proto: APIServiceConfigSpec.encode(spec).finish(), yaml: spec }];
    },
  },
  {
    type: 'Diagnostics.runtime.talos.dev',
    namespace: 'runtime',
    display: 'Diagnostic',
    // Nothing that Talos warns of is in a lab.
    list: () => [],
  },
  {
    type: 'HostnameStatuses.net.talos.dev',
    namespace: 'network',
    display: 'HostnameStatus',
    columns: [['Hostname', '{.hostname}']],
    list: ({ machine }) => {
      const spec = { hostname: machine.name, domainname: '' };
      return [{ id: 'hostname', proto: HostnameStatusSpec.encode(spec).finish(), yaml: spec }];
    },
  },
  {
    type: 'NodeAddresses.net.talos.dev',
    namespace: 'network',
    display: 'NodeAddress',
    columns: [['Addresses', '{.addresses}']],
    list: ({ machine }) =>
      ['accumulative', 'current', 'default', 'routed'].map((id) => ({
        id,
        proto: NodeAddressSpec.encode({
          addresses: [{ ip: addressBytes(machine.address), prefixLength: 32 }],
        }).finish(),
        yaml: { addresses: [`${machine.address}/32`] },
      })),
  },
];

function persistent(machine: BootFacts['machine']): ReturnType<typeof configurationOf>[] {
  try {
    return [configurationOf(machine, 'persistent')];
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}

function configuration(id: string, { config, version }: ReturnType<typeof configurationOf>): MadeResource {
  return {
    id,
    version,
    proto: MachineConfigSpec.encode({ yamlMarshalled: Buffer.from(config, 'utf8') }).finish(),
    // A scalar that holds the text, which the annotation announces.
    yaml: `${JSON.stringify(config)}\n`,
    annotations: { 'talos.dev/yaml-spec': '1' },
  };
}

function machineStatus({ status }: BootFacts): MadeResource {
  const { stage, ready, unmet } = status();
  const name = `MACHINE_STAGE_${stage.toUpperCase().replaceAll('-', '_')}` as keyof typeof RuntimeMachineStage;
  const conditions = unmet.map(({ name: condition, reason }) => ({ name: condition, reason }));
  const spec = { stage: RuntimeMachineStage[name], status: { ready, unmetConditions: conditions } };
  return {
    id: 'machine',
    proto: MachineStatusSpec.encode(spec).finish(),
    yaml: { stage: stage.replaceAll('-', ' '), status: { ready, unmetConditions: conditions } },
  };
}
