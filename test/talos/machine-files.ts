import { rmSync, statfsSync } from 'node:fs';
import { cp, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { output } from '../support/run.ts';
import { addressOf, gatewayOf } from './host/network.ts';
import { machineDirectory } from './layout.ts';
import type { ClusterRecord } from './record.ts';

/** What a machine is in its cluster. */
export type MachineRole = 'controlplane' | 'worker';

export function roleOf(name: string): MachineRole {
  return name.startsWith('cp') ? 'controlplane' : 'worker';
}

/** The size of the STATE volume: Talos's own partition has 100 MB. */
const STATE_SIZE = '100m';

/** Makes the files of a machine that has never booted. */
export async function createMachine(record: ClusterRecord, name: string, number: number): Promise<void> {
  const directory = machineDirectory(record.directory, name);
  const network = { cluster: record.name, index: record.index };
  const role = roleOf(name);
  await mkdir(join(directory, 'etc'), { recursive: true });
  await writeFile(join(directory, 'etc/hostname'), `${name}\n`);
  await writeFile(join(directory, 'etc/resolv.conf'), `nameserver ${gatewayOf(network)}\n`);
  await writeFile(join(directory, 'etc/hosts'), `127.0.0.1 localhost\n${addressOf(network, number)} ${name}\n`);
  // Talos reads its first configuration from the environment; later boots find
  // the one that it kept in /system/state.
  const configuration = await readFile(join(record.directory, `${role}.yaml`));
  await writeFile(join(directory, 'userdata'), configuration.toString('base64'), { mode: 0o600 });
  await createVolumes(record, directory);
}

/** Empty volumes. STATE is a file system of its own, so that it can be full without the rest. */
async function createVolumes(record: ClusterRecord, directory: string): Promise<void> {
  const volumes = join(directory, 'volumes');
  for (const name of ['var/lib/kubelet', 'state', 'opt']) await mkdir(join(volumes, name), { recursive: true });
  const options = `size=${STATE_SIZE},mode=700`;
  await output('mount', ['-t', 'tmpfs', '-o', options, `ichor-${record.name}`, join(volumes, 'state')]);
  await cp(join(record.rootfs, 'opt'), join(volumes, 'opt'), { recursive: true });
}

/** Throws the volumes away and makes empty ones; the machine has no power. */
export async function emptyVolumes(record: ClusterRecord, directory: string): Promise<void> {
  const volumes = join(directory, 'volumes');
  await output('umount', [join(volumes, 'state')]);
  await rm(volumes, { recursive: true, force: true });
  await createVolumes(record, directory);
}

/** Fills the STATE volume up to `leaveBytes`. */
export async function fillState(directory: string, leaveBytes: number): Promise<void> {
  const { bavail, bsize } = statfsSync(join(directory, 'volumes/state'));
  const file = await open(fillerIn(directory), 'a');
  try {
    await file.appendFile(Buffer.alloc(Math.max(0, bavail * bsize - leaveBytes)));
  } finally {
    await file.close();
  }
}

export function freeState(directory: string): void {
  rmSync(fillerIn(directory), { force: true });
}

function fillerIn(directory: string): string {
  return join(directory, 'volumes/state/.ichor-filler');
}

/** Where a file of a machine is on the host: in the view of its first process, or in the volumes if it is off. */
export function pathOnHost(directory: string, init: number | undefined, path: string): string {
  if (init !== undefined) return `/proc/${init}/root${path}`;
  const volumes: Readonly<Record<string, string>> = { '/var/': 'var', '/system/state/': 'state', '/opt/': 'opt' };
  for (const [prefix, volume] of Object.entries(volumes)) {
    if (path.startsWith(prefix)) return join(directory, 'volumes', volume, path.slice(prefix.length));
  }
  throw new Error(
    `${path} cannot be read while the machine is off: only what is below /var, /system/state and /opt is kept`,
  );
}
