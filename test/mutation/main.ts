import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { type MutationReport, percentOf, scoreLines, scoresOf } from './scores.ts';

/**
 * Changes the code in every way that Stryker knows, one at a time, and lets the tests
 * beside it run: a change that no test notices is printed. Fails where a part has
 * less than its score. Options are Stryker's, as in `--mutate internal/rotation/decide.ts`.
 */
const CONFIG = 'test/mutation/stryker.config.mjs';
const REPORT = 'dist/mutation.json';

rmSync(REPORT, { force: true });
const { status, error } = spawnSync('stryker', ['run', CONFIG, ...process.argv.slice(2)], { stdio: 'inherit' });
if (error !== undefined) throw error;
if (status !== 0) throw new Error(`Stryker ended with exit code ${status}; expected it to run every mutant`);

const scores = scoresOf(JSON.parse(readFileSync(REPORT, 'utf8')) as MutationReport);
process.stdout.write(`${scoreLines(scores).join('\n')}\n`);
process.exitCode = scores.every((score) => percentOf(score) >= score.atLeast) ? 0 : 1;
