import type { YAMLMap } from 'yaml';
import type { Access } from './access.ts';
import { MachineConfigError } from './error.ts';
import { placeAt } from './yaml/source.ts';

/** What a machine is. Talos's `init` is a control plane, its `join` a worker. */
export type Role = 'controlplane' | 'worker';

const ROLES: Readonly<Record<string, Role>> = {
  controlplane: 'controlplane',
  init: 'controlplane',
  worker: 'worker',
  join: 'worker',
};

/** The role from `machine.type`. @throws {MachineConfigError} where it is missing or unknown. */
export function roleOf(access: Access): Role {
  return access.once('role', () => readRole(access));
}

function readRole(access: Access): Role {
  const machine = machineOf(access);
  const scalar = access.fields.scalar(machine, 'type', 'machine.type');
  const role = scalar === undefined ? undefined : ROLES[String(scalar.value)];
  if (role !== undefined) return role;
  const found = scalar === undefined ? 'nothing' : `"${String(scalar.value)}"`;
  throw new MachineConfigError('not-a-machine-configuration', `expected controlplane or worker, found ${found}`, {
    ...placeAt(access.config, scalar?.range[0] ?? machine.range?.[0] ?? 0, 'machine.type'),
  });
}

/** The `machine` fields. @throws {MachineConfigError} where they are missing. */
export function machineOf(access: Access): YAMLMap {
  const { legacy } = access.config;
  const machine = access.fields.map(legacy.map, 'machine', 'machine');
  if (machine !== undefined) return machine;
  const place = placeAt(access.config, legacy.start, 'machine');
  throw new MachineConfigError('not-a-machine-configuration', 'the v1alpha1 document has no machine fields', place);
}

/** The `cluster` fields, if any. */
export function clusterOf(access: Access): YAMLMap | undefined {
  return access.fields.map(access.config.legacy.map, 'cluster', 'cluster');
}
