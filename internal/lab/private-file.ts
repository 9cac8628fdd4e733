import { chmod, rename, writeFile } from 'node:fs/promises';

/** Puts text that may hold keys into a file that only its owner reads, in one step. */
export async function writePrivate(path: string, text: string | Uint8Array): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, text, { mode: 0o600 });
  // A draft that an earlier process left behind keeps the mode that it had.
  await chmod(draft, 0o600);
  await rename(draft, path);
}
