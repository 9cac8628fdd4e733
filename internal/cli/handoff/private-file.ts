import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../../../pkg/files/index.ts';
import { fromFileSystem } from '../../store/index.ts';
import { CliError } from '../cli-error.ts';

/** Text of a file, or nothing where it is not there. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (isCode(cause, 'ENOENT')) return undefined;
    throw new CliError('directory', `${path} cannot be read: ${codeOf(cause)}`, undefined, cause);
  }
}

/**
 * Puts what holds keys into a file, readable by its owner only, in one
 * step and durably: whoever reads, or finds it after a crash, has the old text or
 * the new one. What is no plain file (a link, a device, a folder) is not replaced.
 */
export async function writePrivateFile(path: string, content: string | Uint8Array): Promise<void> {
  await isPlainFileThere(path);
  const folder = dirname(path);
  await makeFolderOf(path);
  const draft = join(folder, `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`);
  try {
    const file = await open(draft, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    await syncFolder(folder);
  } catch (cause) {
    await rm(draft, { force: true });
    throw fromFileSystem(cause, path, { doing: 'write it', outcome: 'not-done' });
  }
}

async function makeFolderOf(path: string): Promise<void> {
  const folder = dirname(path);
  try {
    await makeFolder(folder);
  } catch (cause) {
    if (!isCode(cause, 'ENOENT')) throw fromFileSystem(cause, path, { doing: 'write it', outcome: 'not-done' });
    throw new CliError(
      'directory',
      `${folder} cannot be made: its file system takes no folders`,
      'Name a directory in which files can be kept. Nothing was changed.',
      cause,
    );
  }
}

/**
 * Whether a file of this name is there. Errors: `directory` for what is no plain
 * file: a new one would take its name, so that `/dev/stdout` would be gone, and a
 * link would no longer point anywhere.
 */
export async function isPlainFileThere(path: string): Promise<boolean> {
  const found = await lstat(path).catch((cause: unknown) => {
    if (isCode(cause, 'ENOENT')) return undefined;
    throw fromFileSystem(cause, path, { doing: 'look at it', outcome: 'not-done' });
  });
  if (found === undefined || found.isFile()) return found !== undefined;
  throw new CliError(
    'directory',
    `${path} is no plain file, and is not replaced`,
    'Name the file itself. Nothing was changed.',
  );
}

/** Removes a file durably; nothing happens where it is not there. */
export async function removePrivateFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncFolder(dirname(path));
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isCode(error: unknown, code: string): boolean {
  return codeOf(error) === code;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
