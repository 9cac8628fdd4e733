import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';

/** Size of a cluster, as far as what it needs is concerned. */
export interface ClusterSize {
  readonly controlPlanes: number;
  readonly workers: number;
}

/** What the machine offers; tests give their own. */
export interface HostFacts {
  readonly platform: string;
  readonly uid: number;
  readonly programs: (name: string) => boolean;
  readonly availableMemory: number;
  readonly availableDisk: number;
  /** Magic number of the file system that holds the state. */
  readonly fileSystem: number;
  readonly stateDirectory: string;
}

const MIB = 1024 * 1024;
const OVERLAYFS = 0x794c7630;

/** Programs of the host that the harness runs, and the Debian package that has each. */
const PROGRAMS: Readonly<Record<string, string>> = {
  bash: 'bash',
  ip: 'iproute2',
  nsenter: 'util-linux',
  unshare: 'util-linux',
  mount: 'mount',
  umount: 'mount',
  sysctl: 'procps',
};

/** Memory that a cluster needs in bytes; measured 440-480 MiB for a control plane, 120 MiB for a worker. */
export function memoryNeeded({ controlPlanes, workers }: ClusterSize): number {
  return (200 + 550 * controlPlanes + 200 * workers) * MIB;
}

/** Disk that a cluster needs in bytes; measured 560 MiB for a control plane, 100 MiB for a worker. */
export function diskNeeded({ controlPlanes, workers }: ClusterSize): number {
  return (200 + 700 * controlPlanes + 250 * workers) * MIB;
}

/** The first thing that the machine lacks for such a cluster, in one line with what to do; undefined if nothing. */
export function lackOf(size: ClusterSize, host: HostFacts): string | undefined {
  if (host.platform !== 'linux') return `a Talos cluster needs Linux, this is ${host.platform}`;
  if (host.uid !== 0) return 'a Talos cluster needs root: run it with sudo';
  for (const [program, debianPackage] of Object.entries(PROGRAMS)) {
    if (!host.programs(program)) return `the program ${program} is missing: install it (Debian: ${debianPackage})`;
  }
  if (host.fileSystem === OVERLAYFS) {
    return `${host.stateDirectory} is on an overlay file system, on which containers cannot be run: set ICHOR_CACHE to a directory on a disk`;
  }
  const { controlPlanes, workers } = size;
  const what = `${controlPlanes} control planes and ${workers} workers`;
  const memory = memoryNeeded(size);
  if (host.availableMemory < memory) {
    return `too little memory for ${what}: ${mib(host.availableMemory)} available, ${mib(memory)} needed; free some or ask for fewer machines`;
  }
  const disk = diskNeeded(size);
  if (host.availableDisk < disk) {
    return `too little disk for ${what} in ${host.stateDirectory}: ${mib(host.availableDisk)} available, ${mib(disk)} needed; free some or set ICHOR_CACHE`;
  }
  return undefined;
}

/** What this machine offers for a cluster whose state is in that directory. */
export function readHost(stateDirectory: string): HostFacts {
  const disk = statfsSync(existingParent(stateDirectory));
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? -1,
    programs: onPath,
    availableMemory: availableMemory(),
    availableDisk: disk.bavail * disk.bsize,
    fileSystem: disk.type,
    stateDirectory,
  };
}

function existingParent(path: string): string {
  return existsSync(path) ? path : existingParent(dirname(path));
}

function onPath(name: string): boolean {
  return (process.env.PATH ?? '').split(':').some((directory) => existsSync(`${directory}/${name}`));
}

function availableMemory(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY;
  const line = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}

function mib(bytes: number): string {
  return `${Math.floor(bytes / MIB)} MiB`;
}
