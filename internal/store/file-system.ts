import { constants } from 'node:fs';
import { chmod, link, lstat, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { makeFolder } from '../../pkg/files/index.ts';

/** What is known of a file without opening it. Symbolic links are not followed. */
export interface FileFacts {
  readonly kind: 'file' | 'directory' | 'other';
  /** Permission bits, such as 0o600. */
  readonly mode: number;
  readonly uid: number;
  readonly size: number;
}

/**
 * The file system as the store uses it: each step that can fail, or after which a process can die, is one call.
 * Errors are those of Node, with their `code`.
 */
export interface StoreFileSystem {
  /** The content, or nothing when there is no such file. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** The names in a folder; none when there is no such folder. */
  list(directory: string): Promise<string[]>;
  facts(path: string): Promise<FileFacts | undefined>;
  /** Makes a file that was not there, mode 0600, and forces its content to the disk. */
  create(path: string, bytes: Uint8Array): Promise<void>;
  /** Adds to a file, which is made with mode 0600 where it is missing, and forces its content to the disk. */
  append(path: string, bytes: Uint8Array): Promise<void>;
  /** Atomic; takes the place of what was there. */
  rename(from: string, to: string): Promise<void>;
  /** Gives a file a second name. Errors: `EEXIST` when that name is taken. */
  link(from: string, to: string): Promise<void>;
  /** Nothing happens when it is not there. */
  remove(path: string): Promise<void>;
  /** Forces the names in a folder to the disk: what was made, renamed or removed there. */
  syncDirectory(directory: string): Promise<void>;
  /** Makes a folder with mode 0700; nothing happens when it is there. */
  makeDirectory(directory: string): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
}

/** ENOTDIR: what would be a folder above it is a file. */
const NOT_THERE = ['ENOENT', 'ENOTDIR'];

/** The file system of the machine that we run on. */
export function createNodeFileSystem(): StoreFileSystem {
  return {
    read: (path) => absentAs(undefined, () => readFile(path)),
    // A file in the place of a folder is no empty folder.
    list: (directory) => absentAs([], () => readdir(directory), ['ENOENT']),
    facts: (path) => absentAs(undefined, () => factsOf(path)),
    create: (path, bytes) => writeThrough(path, bytes, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL),
    append: (path, bytes) => writeThrough(path, bytes, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND),
    rename,
    link,
    remove: (path) => rm(path, { force: true }),
    syncDirectory,
    makeDirectory: makeFolder,
    chmod,
  };
}

async function factsOf(path: string): Promise<FileFacts> {
  const stats = await lstat(path);
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other';
  return { kind, mode: stats.mode & 0o777, uid: stats.uid, size: stats.size };
}

async function writeThrough(path: string, bytes: Uint8Array, flags: number): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function absentAs<T>(absent: T, look: () => Promise<T>, codes: readonly string[] = NOT_THERE): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return absent;
    throw error;
  }
}
