import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseTalosconfig, type Talosconfig, TalosconfigError, writeTalosconfig } from './talosconfig.ts';
import { errorCode, errorText } from './transport/failure.ts';

/**
 * Reads a talosconfig from a file.
 *
 * @throws {TalosconfigError} also when there is no such file
 */
export async function readTalosconfigFile(path: string): Promise<Talosconfig> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const detail = errorCode(error) === 'ENOENT' ? 'does not exist' : `cannot be read: ${errorText(error)}`;
    throw new TalosconfigError(path, detail);
  }
  return parseTalosconfig(text, path);
}

/** Replaces the file at once, readable by its owner only; a crash leaves the old or the new one. */
export async function writeTalosconfigFile(path: string, config: Talosconfig): Promise<void> {
  const draft = join(dirname(path), `.talosconfig-${randomBytes(6).toString('hex')}`);
  const file = await open(draft, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  try {
    await file.writeFile(writeTalosconfig(config));
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw new TalosconfigError(path, `cannot be written: ${errorText(error)}`);
  }
}
