import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory, ensureArtefact } from './artefact.ts';
import { output } from './run.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** All that goes into the program. */
const SOURCES = [
  'api',
  'pkg',
  'internal',
  'cmd/ichor',
  'proto/generated',
  'build.ts',
  'package.json',
  'package-lock.json',
];

/**
 * The file of the built `ichor`, as people run it: made by `build.ts` from these
 * very sources, once for each state of them.
 */
export async function builtIchor(): Promise<string> {
  const folder = await ensureArtefact(cacheDirectory(), {
    name: 'ichor',
    key: sourceKey(),
    make: async (out) => {
      await output(process.execPath, ['build.ts', out], { cwd: ROOT });
    },
  });
  return join(folder, 'ichor.js');
}

/** SHA-256 over names and contents of every source file, without the tests beside them. */
function sourceKey(): string {
  const hash = createHash('sha256');
  for (const file of SOURCES.flatMap(filesBelow).sort()) {
    hash.update(`${file}\n`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

function filesBelow(path: string): string[] {
  if (path.includes('.')) return [path];
  return readdirSync(join(ROOT, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
}
