import { dirname } from 'node:path';
import type { StoreFileSystem } from '../../internal/store/index.ts';

/** The process died: nothing that it does afterwards happens. */
export class ProcessDied extends Error {
  override readonly name = 'ProcessDied';
}

/** One fault: at the step with this number (counted from one), the file system answers with this code, or the process dies. */
export interface FileFault {
  readonly step: number;
  readonly kind: 'ENOSPC' | 'EROFS' | 'EIO' | 'EACCES' | 'die';
  /** The fault stays until `mend`; else it happens once. Only steps that need room fail with a lasting ENOSPC. */
  readonly lasts?: boolean;
}

interface Inode {
  bytes: Buffer;
  /** What a power loss leaves. */
  durable: Buffer;
  mode: number;
}

/** What a power loss does to names that were not forced to the disk. Content that was not forced is lost in both. */
export type PowerLoss = 'names-lost' | 'names-kept';

/** The disk of one machine: survives the process, and a power loss as far as things were forced to it. */
export interface MemoryDisk {
  names: Map<string, Inode>;
  durableNames: Map<string, Inode>;
  folders: Set<string>;
  durableFolders: Set<string>;
}

/** A file system in memory that counts its steps, fails at one of them, and knows what was forced to the disk. */
export interface MemoryFiles extends StoreFileSystem {
  /** Every step that changed something or could have, in words. */
  readonly steps: readonly string[];
  /** Whether the fault happened. */
  readonly fired: boolean;
  mend(): void;
}

export function createDisk(folder: string): MemoryDisk {
  return { names: new Map(), durableNames: new Map(), folders: new Set([folder]), durableFolders: new Set([folder]) };
}

/** What is left of a disk when the power fails. */
export function afterPowerLoss(disk: MemoryDisk, kind: PowerLoss): MemoryDisk {
  const kept = kind === 'names-kept' ? disk.names : disk.durableNames;
  const names = new Map([...kept].map(([path, inode]) => [path, { ...inode, bytes: inode.durable }] as const));
  const folders = kind === 'names-kept' ? disk.folders : disk.durableFolders;
  const standing = new Map([...names].filter(([path]) => folders.has(dirname(path))));
  return {
    names: standing,
    durableNames: new Map(standing),
    folders: new Set(folders),
    durableFolders: new Set(folders),
  };
}

/** A copy that goes on by itself. */
export function copyDisk(disk: MemoryDisk): MemoryDisk {
  const copies = new Map<Inode, Inode>();
  const copyOf = (inode: Inode): Inode => {
    const copy = copies.get(inode) ?? { ...inode };
    copies.set(inode, copy);
    return copy;
  };
  const copyAll = (names: Map<string, Inode>) =>
    new Map([...names].map(([path, inode]) => [path, copyOf(inode)] as const));
  return {
    names: copyAll(disk.names),
    durableNames: copyAll(disk.durableNames),
    folders: new Set(disk.folders),
    durableFolders: new Set(disk.durableFolders),
  };
}

export function createMemoryFiles(disk: MemoryDisk, fault?: FileFault): MemoryFiles {
  const steps: string[] = [];
  let fired = false;
  let isMended = false;
  let isDead = false;

  /** True when a write is to be cut short. */
  function step(what: string, needsRoom: boolean): void {
    if (isDead) throw new ProcessDied('dead');
    steps.push(what);
    if (fault === undefined || isMended) return;
    const isDue = fault.lasts === true ? steps.length >= fault.step : steps.length === fault.step;
    if (!isDue || (fault.lasts === true && fault.kind === 'ENOSPC' && !needsRoom)) return;
    fired = true;
    if (fault.kind === 'die') {
      isDead = true;
      throw new ProcessDied(what);
    }
    throw errno(fault.kind, what);
  }

  function alive(): void {
    if (isDead) throw new ProcessDied('dead');
  }

  function write(path: string, inode: Inode, added: Uint8Array): void {
    const half = added.subarray(0, Math.floor(added.length / 2));
    const before = inode.bytes;
    inode.bytes = Buffer.concat([before, half]);
    step(`write half of ${path}`, true);
    inode.bytes = Buffer.concat([before, added]);
    step(`sync ${path}`, true);
    inode.durable = inode.bytes;
  }

  return {
    steps,
    get fired() {
      return fired;
    },
    mend() {
      isMended = true;
    },
    async read(path) {
      alive();
      const inode = disk.names.get(path);
      return inode === undefined ? undefined : Buffer.from(inode.bytes);
    },
    async list(directory) {
      alive();
      const paths = [...disk.names.keys(), ...disk.folders];
      return paths.filter((path) => dirname(path) === directory).map((path) => path.slice(directory.length + 1));
    },
    async facts(path) {
      alive();
      if (disk.folders.has(path)) return { kind: 'directory', mode: 0o700, uid: 1000, size: 0 };
      const inode = disk.names.get(path);
      return inode === undefined ? undefined : { kind: 'file', mode: inode.mode, uid: 1000, size: inode.bytes.length };
    },
    async create(path, bytes) {
      step(`open ${path}`, true);
      if (disk.names.has(path)) throw errno('EEXIST', path);
      if (!disk.folders.has(dirname(path))) throw errno('ENOENT', path);
      const inode: Inode = { bytes: Buffer.alloc(0), durable: Buffer.alloc(0), mode: 0o600 };
      disk.names.set(path, inode);
      write(path, inode, bytes);
    },
    async append(path, bytes) {
      step(`open ${path}`, true);
      const inode = disk.names.get(path) ?? { bytes: Buffer.alloc(0), durable: Buffer.alloc(0), mode: 0o600 };
      disk.names.set(path, inode);
      write(path, inode, bytes);
    },
    async rename(from, to) {
      step(`rename ${from} to ${to}`, false);
      const inode = disk.names.get(from);
      if (inode === undefined) throw errno('ENOENT', from);
      disk.names.delete(from);
      disk.names.set(to, inode);
    },
    async link(from, to) {
      step(`link ${from} to ${to}`, false);
      const inode = disk.names.get(from);
      if (inode === undefined) throw errno('ENOENT', from);
      if (disk.names.has(to)) throw errno('EEXIST', to);
      disk.names.set(to, inode);
    },
    async remove(path) {
      step(`remove ${path}`, false);
      disk.names.delete(path);
    },
    async syncDirectory(directory) {
      step(`sync folder ${directory}`, true);
      if (!disk.folders.has(directory)) throw errno('ENOENT', directory);
      for (const path of [...disk.durableNames.keys()]) if (dirname(path) === directory) disk.durableNames.delete(path);
      for (const [path, inode] of disk.names) if (dirname(path) === directory) disk.durableNames.set(path, inode);
      for (const folder of disk.folders) if (dirname(folder) === directory) disk.durableFolders.add(folder);
    },
    async makeDirectory(directory) {
      if (disk.folders.has(directory)) return;
      step(`make folder ${directory}`, true);
      for (
        let folder = directory;
        folder !== '/' && folder !== '.' && !disk.folders.has(folder);
        folder = dirname(folder)
      ) {
        disk.folders.add(folder);
      }
    },
    async chmod(path, mode) {
      step(`chmod ${path}`, false);
      const inode = disk.names.get(path);
      if (inode !== undefined) inode.mode = mode;
    },
  };
}

function errno(code: string, what: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}
