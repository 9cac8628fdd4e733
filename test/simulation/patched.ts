import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Mutant } from './mutants/mutant.ts';

/** What is changed, and how. */
export type Patch = Pick<Mutant, 'name' | 'edits'>;

/** Bundles a program of this repository with a patch in it, for Node. Throws where the patch does not fit any more. */
export async function buildPatched(patch: Patch, entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    keepNames: true,
    logLevel: 'silent',
    external: ['esbuild'],
    plugins: [patched(patch)],
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
  });
}

/** A file with the faults in it; one that does not fit any more is an error. */
export function mutated({ name, edits }: Patch, path: string): string {
  let contents = readFileSync(path, 'utf8');
  for (const { file, find, replace } of edits) {
    if (resolve(file) !== resolve(path)) continue;
    if (!contents.includes(find)) throw new Error(`mutant "${name}" does not fit ${file} any more`);
    contents = contents.replace(find, () => replace);
  }
  return contents;
}

function patched(patch: Patch): Plugin {
  return {
    name: 'mutant',
    setup(compiler) {
      compiler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!patch.edits.some(({ file }) => resolve(file) === path)) return undefined;
        return { contents: mutated(patch, path), loader: 'ts' as const };
      });
    },
  };
}
