import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Scenario } from '../../internal/simulator/index.ts';
import type { Mutant } from './mutants/mutant.ts';
import { buildPatched, mutated } from './patched.ts';

/** What became of one mutant. */
export interface Verdict {
  readonly name: string;
  readonly row: string;
  /** `search`: a run broke a property or did not end well. `test`: a test beside the code failed. */
  readonly by: 'search' | 'test';
  readonly killedBy: string | undefined;
}

/** Which rows of the catalogue and of the bug reports a list of verdicts covers. */
export function rowsOf(verdicts: readonly Verdict[]): { readonly catalogue: number; readonly reports: number } {
  const names = new Set(verdicts.flatMap(({ row }) => row.split(/\s+/)));
  const count = (form: RegExp) => [...names].filter((name) => form.test(name)).length;
  return { catalogue: count(/^[A-K]\d{1,2}$|^L\df$/), reports: count(/^P\d{2}$/) };
}

/** Builds the search with each mutant in turn and lets it run; a mutant that nothing notices lives. */
export async function killMutants(mutants: readonly Mutant[], tell: (verdict: Verdict) => void): Promise<Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
  const verdicts: Verdict[] = [];
  try {
    for (const mutant of mutants) {
      const by = mutant.tests === undefined ? 'search' : 'test';
      const killedBy = by === 'search' ? await killBySearch(mutant, folder) : killByTests(mutant, folder);
      const verdict = { name: mutant.name, row: mutant.row, by, killedBy } as const;
      verdicts.push(verdict);
      tell(verdict);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return verdicts;
}

/** What fails without any mutant: a run that fails anyway kills nothing. */
export async function soundness(mutants: readonly Mutant[]): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
  const scenarios = mutants.flatMap((mutant) => mutant.scenarios ?? []);
  const once = [...new Set(scenarios.map((scenario) => JSON.stringify(scenario)))].map(
    (text) => JSON.parse(text) as Scenario,
  );
  try {
    return await killBySearch({ name: 'none', row: '', edits: [], scenarios: once }, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function killBySearch(mutant: Mutant, folder: string): Promise<string | undefined> {
  const outfile = join(folder, 'search.mjs');
  await buildPatched(mutant, 'test/simulation/search.ts', outfile);
  const plans = join(folder, 'scenarios.json');
  writeFileSync(plans, JSON.stringify(mutant.scenarios));
  const options = ['--scenarios', plans, '--seconds', '900', '--shrink', 'no', '--lines', '0'];
  return failureOf(process.execPath, [outfile, ...options], process.cwd(), /FAILED (.*)/);
}

/** Runs the tests over a copy of the tree that has the fault in it. */
function killByTests(mutant: Mutant, folder: string): string | undefined {
  const tree = join(folder, 'tree');
  rmSync(tree, { recursive: true, force: true });
  for (const part of [
    'api',
    'cmd',
    'internal',
    'pkg',
    'proto',
    'test',
    'package.json',
    'tsconfig.json',
    'vitest.config.ts',
  ])
    cpSync(part, join(tree, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(tree, 'node_modules'));
  for (const { file } of mutant.edits) writeFileSync(join(tree, file), mutated(mutant, file));
  const vitest = resolve('node_modules/vitest/vitest.mjs');
  const options = ['run', '--project', 'unit', '--project', 'thorough', '--bail', '1', ...(mutant.tests ?? [])];
  return failureOf(process.execPath, [vitest, ...options], tree, /FAIL +(?:\S+ +)?(\S+\.test\.ts.*)/);
}

/** No run of a mutant takes so long on a machine that has other things to do. */
const ENDLESS_MS = 900_000;

/** What a program said when it failed; undefined where it did not. */
function failureOf(program: string, options: readonly string[], cwd: string, said: RegExp): string | undefined {
  try {
    execFileSync(program, [...options], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
      maxBuffer: 64 * 1024 * 1024,
      // A mutant that never ends is noticed as well.
      timeout: ENDLESS_MS,
      killSignal: 'SIGKILL',
    });
    return undefined;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return said.exec(`${stdout}\n${stderr}`)?.[1]?.slice(0, 160) ?? `the program ended: ${stderr.slice(0, 200)}`;
  }
}
