import { basename, dirname, join } from 'node:path';
import { fromFileSystem, StoreError } from './error.ts';
import type { StoreFileSystem } from './file-system.ts';

/** Marks the files that exist only while they are written; whoever takes the lock clears those that were left behind. */
const TEMPORARY = /^\..+\.[0-9a-f]{16}\.tmp$/;

/** What writing needs: the file system, and names that no other process uses. */
export interface WriteMeans {
  readonly files: StoreFileSystem;
  /** Sixteen hexadecimal digits, new at each call. */
  readonly uniqueName: () => string;
}

/**
 * Puts `bytes` in the place of a file in one step, durably: a new file is written and forced to the disk, renamed over
 * the old one, and the folder is forced to the disk. Whoever reads meanwhile, or after a crash at any point, finds the
 * old content or the new one, whole. Then the file is read back and compared.
 * Errors: {@link StoreError}; `not-done` while the old content is certainly in place, `unknown` after the rename.
 */
export async function replaceFile(means: WriteMeans, path: string, bytes: Uint8Array): Promise<void> {
  await placeFile(means, { path, bytes, place: (temporary) => means.files.rename(temporary, path) });
}

/** As {@link replaceFile}, but the name must be free. Errors: also `exists`. */
export async function createFile(means: WriteMeans, path: string, bytes: Uint8Array): Promise<void> {
  const { files } = means;
  await placeFile(means, {
    path,
    bytes,
    async place(temporary) {
      try {
        await files.link(temporary, path);
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
        throw new StoreError('exists', path, 'is there already. Nothing was changed', { cause });
      }
      await files.remove(temporary);
    },
  });
}

interface Placing {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly place: (temporary: string) => Promise<void>;
}

async function placeFile(means: WriteMeans, { path, bytes, place }: Placing): Promise<void> {
  const { files, uniqueName } = means;
  const temporary = join(dirname(path), `.${basename(path)}.${uniqueName()}.tmp`);
  try {
    await files.create(temporary, bytes);
    await place(temporary);
  } catch (cause) {
    // Best effort: what stays behind is cleared when the lock is next taken.
    await files.remove(temporary).catch(() => undefined);
    throw fromFileSystem(cause, path, { doing: 'write it', outcome: 'not-done' });
  }
  await syncFolderOf(files, path);
  const found = await files.read(path);
  if (found === undefined || !Buffer.from(found).equals(bytes)) {
    throw new StoreError(
      'io',
      path,
      'reads back differently from what was written: the disk or another program changed it',
      {
        outcome: 'unknown',
      },
    );
  }
}

/** Removes a file durably; nothing happens when it is not there. */
export async function removeFile(files: StoreFileSystem, path: string): Promise<void> {
  try {
    await files.remove(path);
  } catch (cause) {
    throw fromFileSystem(cause, path, { doing: 'remove it', outcome: 'not-done' });
  }
  await syncFolderOf(files, path);
}

/** Makes a folder where there is none, durably. */
export async function ensureDirectory(files: StoreFileSystem, directory: string): Promise<void> {
  if ((await files.facts(directory)) !== undefined) return;
  try {
    await files.makeDirectory(directory);
  } catch (cause) {
    throw fromFileSystem(cause, directory, { doing: 'make the folder', outcome: 'not-done' });
  }
  await syncFolderOf(files, directory);
}

/** Clears what a write that was killed left in a folder. */
export async function clearTemporaries(files: StoreFileSystem, directory: string): Promise<void> {
  for (const name of await files.list(directory)) {
    if (TEMPORARY.test(name)) await files.remove(join(directory, name));
  }
}

async function syncFolderOf(files: StoreFileSystem, path: string): Promise<void> {
  try {
    await files.syncDirectory(dirname(path));
  } catch (cause) {
    throw fromFileSystem(cause, path, { doing: 'force the change of its folder to the disk', outcome: 'unknown' });
  }
}
