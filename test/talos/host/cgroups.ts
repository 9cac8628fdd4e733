import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where control groups are mounted. */
const MOUNT = '/sys/fs/cgroup';

/** All that the harness runs is below this group, as CLUSTER/MACHINE. */
export const TOP = 'ichor-talos';

/** v1 controllers that a machine gets a directory in; container runtimes inside find theirs by these names. */
export const V1_CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids'] as const;

/** v2 controllers that the kubelet insists on, and what it uses if it is there. */
const V2_CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids', 'io'];

/** Which generation of control groups this machine has. */
export type CgroupVersion = 1 | 2;

/** Finds out which control groups the machine has; throws one line if it has neither kind whole. */
export function cgroupVersion(): CgroupVersion {
  if (existsSync(join(MOUNT, 'cgroup.controllers'))) return 2;
  const lacking = V1_CONTROLLERS.filter((controller) => !existsSync(join(MOUNT, controller, 'cgroup.procs')));
  if (lacking.length === 0) return 1;
  throw new Error(
    `control groups are incomplete: below ${MOUNT} there is neither cgroup v2 nor the v1 controllers ${lacking.join(', ')}; mount them`,
  );
}

/** The directories of a group in every hierarchy. `group` is a path such as `ichor-talos/main/cp1`. */
export function cgroupDirectories(version: CgroupVersion, group: string): string[] {
  return version === 2 ? [join(MOUNT, group)] : V1_CONTROLLERS.map((controller) => join(MOUNT, controller, group));
}

/** Makes a group and those above it. */
export function makeCgroup(version: CgroupVersion, group: string): void {
  for (const directory of cgroupDirectories(version, group)) makeDirectory(version, directory);
}

function makeDirectory(version: CgroupVersion, directory: string): void {
  if (existsSync(directory)) return;
  const parent = dirname(directory);
  const isTop = basename(directory) === TOP;
  if (!isTop) makeDirectory(version, parent);
  if (version === 2) delegate(parent);
  mkdirSync(directory);
  if (version === 1 && directory.startsWith(join(MOUNT, 'cpuset'))) fillCpuset(directory);
  if (isTop) weigh(version, directory);
}

/** A new v1 cpuset is empty and takes no process until it is filled. */
function fillCpuset(directory: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    writeFileSync(join(directory, file), readFileSync(join(dirname(directory), file)));
  }
  writeFileSync(join(directory, 'cgroup.clone_children'), '1');
}

/** All machines together would weigh as much as one process of the host, and starve beside a compiler. */
function weigh(version: CgroupVersion, directory: string): void {
  const file = join(directory, version === 2 ? 'cpu.weight' : 'cpu.shares');
  if (existsSync(file)) writeFileSync(file, version === 2 ? '1600' : '16384');
}

/** Lets the children of a v2 group have its controllers. */
function delegate(parent: string): void {
  const offered = readFileSync(join(parent, 'cgroup.controllers'), 'utf8').trim().split(' ');
  const wanted = V2_CONTROLLERS.filter((controller) => offered.includes(controller));
  try {
    writeFileSync(join(parent, 'cgroup.subtree_control'), wanted.map((controller) => `+${controller}`).join(' '));
  } catch (cause) {
    throw new Error(
      `cannot hand the controllers of ${parent} down: ${(cause as Error).message}; in a container, its own processes must first be moved to a child group`,
      { cause },
    );
  }
}

/** Names of the groups directly below a group, in any hierarchy. */
export function childCgroups(version: CgroupVersion, group: string): string[] {
  const names = cgroupDirectories(version, group).flatMap(childDirectories);
  return [...new Set(names)].sort();
}

/** Every process in a group and below. Nothing can leave it: a machine sees only its own part of the tree. */
export function cgroupProcesses(version: CgroupVersion, group: string): number[] {
  const directory = version === 2 ? join(MOUNT, group) : join(MOUNT, 'pids', group);
  return subtree(directory).flatMap((path) => readNumbers(join(path, 'cgroup.procs')));
}

/** Kills every process in a group and below, and waits until they are gone. */
export async function killCgroup(version: CgroupVersion, group: string): Promise<void> {
  for (let round = 0; round < 200; round += 1) {
    const pids = cgroupProcesses(version, group);
    if (pids.length === 0) return;
    for (const pid of pids) kill(pid, 'SIGKILL');
    await sleep(50);
  }
  throw new Error(
    `processes in the control group ${group} survive SIGKILL: ${cgroupProcesses(version, group).join(', ')}`,
  );
}

/** Removes an emptied group and those below; the kernel may need a moment. */
export async function removeCgroup(version: CgroupVersion, group: string): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    for (const directory of cgroupDirectories(version, group)) {
      for (const path of subtree(directory).reverse()) removeDirectory(path);
    }
    if (cgroupDirectories(version, group).every((directory) => !existsSync(directory))) return;
    await sleep(50);
  }
  throw new Error(`the control group ${group} cannot be removed`);
}

/** Anonymous memory of a group in bytes, page cache not counted. */
export function cgroupMemory(version: CgroupVersion, group: string): number {
  const file = version === 2 ? join(MOUNT, group, 'memory.stat') : join(MOUNT, 'memory', group, 'memory.stat');
  if (!existsSync(file)) return 0;
  const found = (version === 2 ? /^anon (\d+)$/m : /^total_rss (\d+)$/m).exec(readFileSync(file, 'utf8'));
  return Number(found?.[1] ?? 0);
}

/** Processor time that a group has used since it was made, in milliseconds; what has ended in it counts too. */
export function cgroupProcessorMs(version: CgroupVersion, group: string): number {
  const file = version === 2 ? join(MOUNT, group, 'cpu.stat') : join(MOUNT, 'cpuacct', group, 'cpuacct.usage');
  if (!existsSync(file)) return 0;
  const text = readFileSync(file, 'utf8');
  return version === 2 ? Number(/^usage_usec (\d+)$/m.exec(text)?.[1] ?? 0) / 1e3 : Number(text) / 1e6;
}

/** Sends a signal to a process that may have ended meanwhile. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A directory and all below it, parents first; what vanishes meanwhile is left out. */
function subtree(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return [directory, ...childDirectories(directory).flatMap((name) => subtree(join(directory, name)))];
}

/** Names of the directories directly below one; none if it vanishes meanwhile. */
function childDirectories(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

function readNumbers(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

function removeDirectory(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if (!isGone(error) && (error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
  }
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '');
}
