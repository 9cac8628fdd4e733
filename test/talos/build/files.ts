import { chmod, copyFile, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The first file below a directory whose name matches; throws if there is none. */
export async function findFile(directory: string, name: RegExp): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const found = entries.find((entry) => name.test(entry.name) && !entry.isDirectory());
  if (found === undefined) throw new Error(`no file ${name} in ${directory}`);
  return join(found.parentPath, found.name);
}

/** Copies a program into a tree, making the directories above it. */
export async function placeProgram(source: string, destination: string): Promise<void> {
  await mkdir(dirname(destination), { recursive: true });
  await copyFile(source, destination);
  await chmod(destination, 0o755);
}
