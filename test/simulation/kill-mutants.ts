import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { MUTANTS, type Mutant } from './mutants.ts';

/** What became of one mutant. */
export interface Verdict {
  readonly name: string;
  readonly row: string;
  readonly killedBy: string | undefined;
}

/** Builds the search with each mutant in turn and lets it run; a mutant that no run notices lives. */
export async function killMutants(only: RegExp): Promise<Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
  const verdicts: Verdict[] = [];
  try {
    for (const mutant of MUTANTS.filter(({ name }) => only.test(name))) {
      const verdict = { name: mutant.name, row: mutant.row, killedBy: await kill(mutant, folder) };
      verdicts.push(verdict);
      process.stdout.write(
        `${verdict.killedBy === undefined ? 'LIVES ' : 'killed'} ${mutant.name}: ${verdict.killedBy ?? ''}\n`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return verdicts;
}

async function kill(mutant: Mutant, folder: string): Promise<string | undefined> {
  const outfile = join(folder, 'search.mjs');
  await build({
    entryPoints: ['test/simulation/search.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    keepNames: true,
    logLevel: 'silent',
    external: ['esbuild'],
    plugins: [patched(mutant)],
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
  });
  const plans = join(folder, 'scenarios.json');
  writeFileSync(plans, JSON.stringify(mutant.scenarios));
  try {
    execFileSync(
      process.execPath,
      [outfile, '--scenarios', plans, '--seconds', '900', '--shrink', 'no', '--lines', '0'],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    return undefined;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return /FAILED (.*)/.exec(stdout)?.[1]?.slice(0, 160) ?? `the program ended: ${stderr.slice(0, 200)}`;
  }
}

/** Puts the fault into the source as it is read; a fault that does not fit any more is an error. */
function patched({ name, edits }: Mutant): Plugin {
  return {
    name: 'mutant',
    setup(compiler) {
      compiler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const mine = edits.filter(({ file }) => resolve(file) === path);
        if (mine.length === 0) return undefined;
        let contents = readFileSync(path, 'utf8');
        for (const { file, find, replace } of mine) {
          if (!contents.includes(find)) throw new Error(`mutant "${name}" does not fit ${file} any more`);
          contents = contents.replace(find, () => replace);
        }
        return { contents, loader: 'ts' as const };
      });
    },
  };
}

const only = new RegExp(process.argv[2] ?? '');
const verdicts = await killMutants(only);
const living = verdicts.filter(({ killedBy }) => killedBy === undefined);
process.stdout.write(`${verdicts.length - living.length} of ${verdicts.length} mutants killed\n`);
process.exitCode = living.length === 0 ? 0 : 1;
