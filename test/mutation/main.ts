import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { type MutationReport, percentOf, scoreLines, scoresOf, wholeOf } from './scores.ts';

/**
 * Changes the code in every way that Stryker knows, one at a time, and lets the tests
 * beside it run: a change that no test notices is printed. Fails where a part has
 * less than its score. Options are Stryker's, as in `--mutate internal/rotation/decide.ts`.
 * `--scores REPORT...` runs nothing: it reads what runs of different files left behind as one.
 */
const CONFIG = 'test/mutation/stryker.config.mjs';
const REPORT = 'dist/mutation.json';

const [first, ...rest] = process.argv.slice(2);
const reports = first === '--scores' ? rest : [run(process.argv.slice(2))];
if (reports.length === 0) throw new Error('--scores was given no report; expected paths, as in --scores a.json b.json');
const scores = scoresOf(wholeOf(reports.map((path) => JSON.parse(readFileSync(path, 'utf8')) as MutationReport)));
process.stdout.write(`${scoreLines(scores).join('\n')}\n`);
process.exitCode = scores.every((score) => percentOf(score) >= score.atLeast) ? 0 : 1;

/** The report of a run with these options of Stryker's. */
function run(options: readonly string[]): string {
  rmSync(REPORT, { force: true });
  const { status, error } = spawnSync('stryker', ['run', CONFIG, ...options], { stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`Stryker ended with exit code ${status}; expected it to run every mutant`);
  return REPORT;
}
