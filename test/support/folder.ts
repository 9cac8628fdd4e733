import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that only its owner can open; gone, with all that is in it, at the end of the block. */
export interface PrivateFolder extends AsyncDisposable {
  readonly path: string;
}

/** Such a folder with these files, by name, each with mode 0600. */
export async function folderOf(files: Readonly<Record<string, string>>): Promise<PrivateFolder> {
  const path = await mkdtemp(join(tmpdir(), 'ichor-files-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text, { mode: 0o600 });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
