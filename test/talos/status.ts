import { join } from 'node:path';
import type { TalosCluster } from './cluster.ts';
import type { RigMachine } from './machine.ts';

/** What people want to see of a cluster, one line per machine. */
export function statusOf(cluster: TalosCluster): string {
  const head = `cluster ${cluster.name} (${cluster.contract}): ${cluster.endpoint}, files in ${cluster.directory}`;
  return [head, ...cluster.machines.map((machine) => statusOfMachine(cluster, machine))].join('\n');
}

function statusOfMachine(cluster: TalosCluster, machine: RigMachine): string {
  const state = machine.isHeld() ? 'held' : machine.isOn() ? 'on' : 'off';
  const memory = `${Math.round(machine.memory() / 2 ** 20)} MiB`;
  const console = join(cluster.directory, 'rig/machines', machine.name, 'console.log');
  return `${machine.name} ${machine.address} ${state} boot=${machine.bootId()} boots=${machine.boots()} memory=${memory} console=${console}`;
}
