import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder that only its owner may open, and those above it that are missing; nothing happens where it is there.
 * Node's own recursive `mkdir` (24.22) never ends where the file system answers ENOENT to a folder whose parent is
 * there, as `/proc` does; here that is an error like any other. Errors: those of Node, with their `code`.
 */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path);
  if (await isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) await makeFolder(parent);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    // Somebody else may have made it at the same moment.
    if (!isCode(error, 'EEXIST') || !(await isFolder(folder))) throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
