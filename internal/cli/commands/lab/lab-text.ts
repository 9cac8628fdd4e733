import { CA_TARGETS } from '../../../../api/v1alpha1/index.ts';
import type { FaultInForce, LabStatus, MachineStatus } from '../../../lab/index.ts';
import { TARGETS } from '../../../rotation/targets/index.ts';
import { textTable } from '../../text-table.ts';

/** A lab for people. */
export function statusText(status: LabStatus): string {
  const { directory, pid, endpoint, machines, etcdAlarms, faults, memoryBytes } = status;
  return [
    `lab in ${directory} (process ${pid}, ${Math.round(memoryBytes / 1024 / 1024)} MiB), Kubernetes at ${endpoint}`,
    '',
    textTable([
      ['MACHINE', 'ROLE', 'ADDRESS', 'TALOS', 'STATE', 'REBOOTS', 'NODE', 'ETCD', 'API SERVER'],
      ...machines.map(rowOf),
    ]),
    ...(etcdAlarms.length === 0 ? [] : ['', `etcd alarms: ${etcdAlarms.join(', ')}`]),
    ...(faults.length === 0 ? [] : ['', 'broken on purpose:', ...faults.map((each) => `  ${faultText(each)}`)]),
  ].join('\n');
}

function rowOf(machine: MachineStatus): string[] {
  const { name, role, address, talosVersion, state, reboots, node, schedulable, etcd } = machine;
  return [
    name,
    role,
    address,
    talosVersion,
    state,
    String(reboots),
    schedulable ? node : `${node},cordoned`,
    etcd ?? '-',
    apiServerText(machine),
  ];
}

/** The port is said where it is not the usual one. */
function apiServerText({ apiServer, apiServerPort }: MachineStatus): string {
  if (apiServer === undefined) return '-';
  return apiServerPort === 6443 ? apiServer : `${apiServer} on ${apiServerPort}`;
}

/** One fault in force. */
export function faultText({ fault, machine, since }: FaultInForce): string {
  return `${fault}${machine === undefined ? '' : ` on ${machine}`} since ${since}`;
}

/** The option of `rotate-ca` that replaces everything which these machines' Talos can replace. */
export function everyTargetOption(machines: readonly Pick<MachineStatus, 'talosVersion'>[]): string {
  // A lab has Talos 1 alone.
  const minors = machines.map(({ talosVersion }) => Number(talosVersion.split('.')[1]));
  const possible = CA_TARGETS.filter((name) => minors.every((minor) => minor >= TARGETS[name].minimumTalos[1]));
  return possible.length === CA_TARGETS.length ? '--all' : `--ca ${possible.join(',')}`;
}
