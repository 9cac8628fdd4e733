import { join } from 'node:path';
import { cacheDirectory } from '../support/artefact.ts';
import { TOP } from './host/cgroups.ts';

// Where the files and control groups of a cluster are. The cluster's directory
// is for users and tools; below `rig` is what belongs to the harness.

export function clusterDirectory(name: string): string {
  return join(cacheDirectory(), 'talos/clusters', name);
}

/** The files of a machine: number, role, boot_id, console.log, supervisor.log, volumes/{var,state,opt}. */
export function machineDirectory(clusterFiles: string, machine: string): string {
  return join(clusterFiles, 'rig/machines', machine);
}

/** The control group of a machine, or of the cluster's servers. */
export function cgroupOf(cluster: string, member?: string): string {
  return member === undefined ? `${TOP}/${cluster}` : `${TOP}/${cluster}/${member}`;
}

/** The control group in which the servers on the gateway run. */
export const SERVICES = 'services';

/** cp1, cp2, ... then w1, w2, ... */
export function machineNames({ controlPlanes, workers }: { controlPlanes: number; workers: number }): string[] {
  const count = (prefix: string, length: number) => Array.from({ length }, (_, index) => `${prefix}${index + 1}`);
  return [...count('cp', controlPlanes), ...count('w', workers)];
}
