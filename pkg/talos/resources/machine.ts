import { MemberSpec } from '../../../proto/generated/talos/resources/cluster.ts';
import { MachineTypeSpec } from '../../../proto/generated/talos/resources/config.ts';
import { RuntimeMachineStage } from '../../../proto/generated/talos/resources/enums.ts';
import { PKIStatusSpec } from '../../../proto/generated/talos/resources/etcd.ts';
import { BootIDSpec, MachineStatusSpec } from '../../../proto/generated/talos/resources/runtime.ts';
import { ServiceSpec } from '../../../proto/generated/talos/resources/v1alpha1.ts';
import { readAddress } from '../fields.ts';
import type { ResourceKind } from '../resource.ts';
import type { WrittenStatus } from './kubernetes.ts';

/** Changes with every boot. From 1.14; absent in a container. */
export const BOOT_ID: ResourceKind<{ readonly bootId: string }> = {
  type: 'BootIDs.runtime.talos.dev',
  namespace: 'runtime',
  id: 'boot-id',
  decode: (bytes) => ({ bootId: BootIDSpec.decode(bytes).bootId }),
};

export type MachineStage =
  | 'unknown'
  | 'booting'
  | 'installing'
  | 'maintenance'
  | 'running'
  | 'rebooting'
  | 'shutting-down'
  | 'resetting'
  | 'upgrading';

const STAGES: Readonly<Record<RuntimeMachineStage, MachineStage>> = {
  [RuntimeMachineStage.MACHINE_STAGE_UNKNOWN]: 'unknown',
  [RuntimeMachineStage.MACHINE_STAGE_BOOTING]: 'booting',
  [RuntimeMachineStage.MACHINE_STAGE_INSTALLING]: 'installing',
  [RuntimeMachineStage.MACHINE_STAGE_MAINTENANCE]: 'maintenance',
  [RuntimeMachineStage.MACHINE_STAGE_RUNNING]: 'running',
  [RuntimeMachineStage.MACHINE_STAGE_REBOOTING]: 'rebooting',
  [RuntimeMachineStage.MACHINE_STAGE_SHUTTING_DOWN]: 'shutting-down',
  [RuntimeMachineStage.MACHINE_STAGE_RESETTING]: 'resetting',
  [RuntimeMachineStage.MACHINE_STAGE_UPGRADING]: 'upgrading',
};

/** Where the machine stands. `ready` also needs its services and its Node; `unmet` names what is missing. */
export interface MachineStatus {
  readonly stage: MachineStage;
  readonly ready: boolean;
  readonly unmet: readonly { readonly name: string; readonly reason: string }[];
}

export const MACHINE_STATUS: ResourceKind<MachineStatus> = {
  type: 'MachineStatuses.runtime.talos.dev',
  namespace: 'runtime',
  id: 'machine',
  decode(bytes) {
    const spec = MachineStatusSpec.decode(bytes);
    return {
      stage: STAGES[spec.stage] ?? 'unknown',
      ready: spec.status?.ready ?? false,
      unmet: (spec.status?.unmetConditions ?? []).map(({ name, reason }) => ({ name, reason })),
    };
  },
};

/** A service as a resource: it exists only while the service runs. IDs are service IDs. */
export interface ServiceResource {
  readonly running: boolean;
  /** `undefined` while the machine has not checked. */
  readonly healthy: boolean | undefined;
}

export const SERVICE: ResourceKind<ServiceResource> = {
  type: 'Services.v1alpha1.talos.dev',
  namespace: 'runtime',
  decode(bytes) {
    const spec = ServiceSpec.decode(bytes);
    return { running: spec.running, healthy: spec.unknown ? undefined : spec.healthy };
  },
};

export type MachineRole = 'controlplane' | 'worker' | 'unknown';

const ROLES: Readonly<Record<number, MachineRole>> = { 1: 'controlplane', 2: 'controlplane', 3: 'worker' };

/** A machine of the cluster as discovery knows it. IDs are node names. */
export interface Member {
  readonly nodeId: string;
  readonly hostname: string;
  readonly role: MachineRole;
  /** All addresses of the machine, perhaps also a virtual one: try them. */
  readonly addresses: readonly string[];
  readonly operatingSystem: string;
  readonly apiServerPort: number | undefined;
}

export const MEMBER: ResourceKind<Member> = {
  type: 'Members.cluster.talos.dev',
  namespace: 'cluster',
  decode(bytes) {
    const spec = MemberSpec.decode(bytes);
    return {
      nodeId: spec.nodeId,
      hostname: spec.hostname,
      role: ROLES[spec.machineType] ?? 'unknown',
      addresses: spec.addresses.map((address) => readAddress(address.ip)),
      operatingSystem: spec.operatingSystem,
      apiServerPort: spec.controlPlane === undefined ? undefined : Number(spec.controlPlane.apiServerPort),
    };
  },
};

/** Role of this machine. */
export const MACHINE_TYPE: ResourceKind<{ readonly role: MachineRole }> = {
  type: 'MachineTypes.config.talos.dev',
  namespace: 'config',
  id: 'machine-type',
  decode: (bytes) => ({ role: ROLES[MachineTypeSpec.decode(bytes).machineType] ?? 'unknown' }),
};

/** Whether etcd's files were written; `version` is that of `EtcdSecrets`. */
export const PKI_STATUS: ResourceKind<WrittenStatus> = {
  type: 'PKIStatuses.etcd.talos.dev',
  namespace: 'etcd',
  id: 'etcd',
  decode(bytes) {
    const spec = PKIStatusSpec.decode(bytes);
    return { ready: spec.ready, version: spec.version };
  },
};
