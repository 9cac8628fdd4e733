import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory } from '../support/artefact.ts';
import { duration, sayOnStderr } from '../support/clock-lines.ts';
import { isLock, type Lock, type LockOwner, lock, ownerRuns, tryLock } from '../support/lock.ts';
import { run } from '../support/run.ts';
import { type CgroupVersion, cgroupProcessorMs, childCgroups, killCgroup, removeCgroup, TOP } from './host/cgroups.ts';
import { clustersOnNetwork, removeNetwork } from './host/network.ts';
import { restoreSysctls } from './host/sysctls.ts';
import { cgroupOf, clusterDirectory } from './layout.ts';
import { RUN, readRecord, recordedClusters, removeRecord } from './record.ts';

/** What may not be done to a cluster while another process does something to it. */
export function lockCluster(name: string, purpose: string): Lock {
  const result = tryLock(join(RUN, 'locks', name), purpose);
  if (isLock(result)) return result;
  throw new Error(`the cluster ${name} is in use: ${describeOwner(result)}; wait, or choose another name`);
}

/** Held while networks are chosen and made, and while what all clusters share is taken back: two processes must not do so at once. */
export function lockHost(purpose: string): Promise<Lock> {
  return lock(join(RUN, 'locks', '.host'), { purpose });
}

/**
 * Held by a suite while it has a cluster of three control planes: two of them
 * beside one another starve two processors, and then requests fail that would not.
 */
export function lockThreeControlPlanes(purpose: string): Promise<Lock> {
  return lock(join(RUN, 'locks', '.three-control-planes'), {
    purpose,
    onWait: (owner) => sayOnStderr(`${purpose} waits: ${describeOwner(owner)}`),
  });
}

export function describeOwner(owner: LockOwner): string {
  return `process ${owner.pid} is ${owner.purpose}, since ${new Date(owner.since).toISOString()}`;
}

/**
 * Removes all that there is of a cluster. Works from what is found by name, not
 * from our own records, so that it also cleans up after a crash. The caller holds its lock.
 */
export async function removeCluster(name: string, cgroups: CgroupVersion): Promise<void> {
  const directory = readRecord(name)?.directory ?? clusterDirectory(name);
  // What a suite costs decides what may run beside it.
  const processorMs = cgroupProcessorMs(cgroups, cgroupOf(name));
  if (processorMs > 0) sayOnStderr(`talos ${name}: taken down, used ${duration(processorMs)} of processor time`);
  await killCgroup(cgroups, cgroupOf(name));
  await removeCgroup(cgroups, cgroupOf(name));
  await removeNetwork(name);
  await unmountBelow(directory);
  await rm(directory, { recursive: true, force: true });
  removeRecord(name);
  await removeAfterLast(cgroups);
}

/** Takes back what all clusters share, unless there is one; another process may be making one at this moment. */
async function removeAfterLast(cgroups: CgroupVersion): Promise<void> {
  using _host = await lockHost('taking back what clusters share');
  if (recordedClusters().length > 0) return;
  await removeCgroup(cgroups, TOP);
  restoreSysctls(RUN);
}

/**
 * Removes the clusters whose process ended without removing them, and what is
 * on the machine of clusters that nobody has a record of. Answers their names.
 */
export async function removeLeftovers(cgroups: CgroupVersion): Promise<string[]> {
  mkdirSync(RUN, { recursive: true, mode: 0o700 });
  const removed: string[] = [];
  for (const name of findClusters(cgroups)) {
    // The lock of a cluster that is in use is its user's: taken here, it would keep the user from taking the cluster down.
    if (isInUse(name)) continue;
    const held = tryLock(join(RUN, 'locks', name), 'removing what a process left that ended');
    // Somebody makes or removes it right now.
    if (!isLock(held)) continue;
    using _held = held;
    if (isInUse(name)) continue;
    await removeCluster(name, cgroups);
    removed.push(name);
  }
  return removed;
}

/** A cluster made by hand stays until it is taken down; another one as long as the process that it belongs to. */
function isInUse(name: string): boolean {
  const record = readRecord(name);
  return record !== undefined && (record.owner === undefined || ownerRuns(record.owner) !== false);
}

/** Names of all clusters of which anything is on this machine. */
export function findClusters(cgroups: CgroupVersion): string[] {
  const names = [...recordedClusters(), ...childCgroups(cgroups, TOP), ...clustersOnNetwork(), ...directories()];
  return [...new Set(names)].sort();
}

function directories(): string[] {
  try {
    return readdirSync(join(cacheDirectory(), 'talos/clusters'));
  } catch {
    return [];
  }
}

async function unmountBelow(directory: string): Promise<void> {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${directory}/`));
  for (const path of mounts.reverse()) await run('umount', ['--lazy', path]);
}
