import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runDemo } from '../../internal/lab/index.ts';
import { run as simulation } from '../bench/simulation.ts';
import { type MutationReport, percentOf, scoresOf } from '../mutation/scores.ts';
import { enumerateAll } from '../simulation/enumerate.ts';
import { COMPLETE } from '../simulation/enumeration.ts';
import { killMutants, rowsOf, soundness } from '../simulation/kill.ts';
import { FULL } from '../simulation/model/configurations.ts';
import { explore } from '../simulation/model/explore.ts';
import { RULES } from '../simulation/model/rules.ts';
import { MUTANTS } from '../simulation/mutants/index.ts';
import { builtIchor } from '../support/built-ichor.ts';
import type { Figure } from './figure.ts';

const NONE = { atMost: 0 } as const;

/** What is measured, by name, the quick parts first. Each throws where it cannot be measured. */
export const PARTS: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  lab,
  demo,
  rotations,
  model,
  enumeration,
  mutants,
  stryker,
};

/** A lab of three control planes and a worker, from the command to its return, and what its process takes. */
async function lab(): Promise<Figure[]> {
  const program = await builtIchor();
  const folder = mkdtempSync(join(tmpdir(), 'ichor-scoreboard-'));
  const directory = join(folder, 'lab');
  try {
    const began = performance.now();
    ichor(program, ['lab', 'up', directory, '--control-planes', '3', '--workers', '1']);
    const seconds = (performance.now() - began) / 1_000;
    const { memoryBytes } = JSON.parse(ichor(program, ['lab', 'status', directory, '-o', 'json'])) as {
      readonly memoryBytes: number;
    };
    return [
      { name: 'lab of 3+1 up', value: seconds, unit: 's', asked: { atMost: 5 } },
      { name: 'memory of that lab', value: memoryBytes / 1e6, unit: 'MB', asked: { atMost: 250 } },
    ];
  } finally {
    if (existsSync(directory)) ichor(program, ['lab', 'down', directory]);
    rmSync(folder, { recursive: true, force: true });
  }
}

function ichor(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ichor ${args.join(' ')} ended with ${status}: ${stderr}`);
  return stdout;
}

/** What `npm run demo` does, without its picture. */
async function demo(): Promise<Figure[]> {
  const program = await builtIchor();
  const began = performance.now();
  const { isWhole, traffic } = await runDemo({
    program: [process.execPath, program],
    controlPlanes: 3,
    workers: 1,
    bootSeconds: 1,
    settle: '2s',
    stdio: 'ignore',
    say: () => undefined,
    signal: new AbortController().signal,
  });
  return [
    { name: 'demo', value: (performance.now() - began) / 60_000, unit: 'minutes', asked: { atMost: 3 } },
    { name: 'failed requests in the demo', value: traffic.failed, unit: '', asked: NONE },
    { name: 'demos that did not end whole', value: isWhole ? 0 : 1, unit: '', asked: NONE },
  ];
}

/** How fast the world turns, and what many clusters under one process take. */
async function rotations(): Promise<Figure[]> {
  const rows = await simulation();
  const measured = (form: RegExp): number => {
    const row = rows.find(({ name }) => form.test(name));
    if (row === undefined) throw new Error(`the benchmark of the simulation has no row ${form}`);
    return row.value;
  };
  const [ten, hundred, thousand] = [10, 100, 1_000].map((count) =>
    measured(new RegExp(`^resident memory, ${count} c`)),
  );
  if (ten === undefined || hundred === undefined || thousand === undefined) throw new Error('a fleet is missing');
  return [
    {
      name: 'rotations of 3+2 a second and core',
      value: measured(/rotations of 3\+2, talos/),
      unit: '',
      asked: { atLeast: 300 },
    },
    { name: 'memory of 1,000 clusters', value: thousand, unit: 'MiB', asked: { atMost: 1_024 } },
    {
      name: 'memory that a cluster adds from 100 to 1,000, for what one adds from 10 to 100',
      value: (thousand - hundred) / 900 / ((hundred - ten) / 90),
      unit: '',
      asked: { atMost: 1 },
    },
    {
      name: 'reconciles a second of 1,000 clusters',
      value: measured(/^reconciles, 1000 /),
      unit: '',
    },
  ];
}

/** Every state of the protocol of the roll. */
async function model(): Promise<Figure[]> {
  let states = 0;
  let violations = 0;
  for (const { shape, left } of FULL) {
    const found = explore({ shape, rules: RULES }, left);
    states += found.states;
    violations += found.violation === undefined ? 0 : 1;
  }
  return [
    { name: 'states of the model', value: states, unit: '', asked: { atLeast: 1_500_000 } },
    { name: 'violations in the model', value: violations, unit: '', asked: NONE },
  ];
}

/** Every plan of the complete enumeration, on every processor. */
async function enumeration(): Promise<Figure[]> {
  const began = performance.now();
  const score = await enumerateAll({ parts: COMPLETE, seed: 1, seconds: 7_200 });
  if (score.isCut) throw new Error(`only ${score.plans} plans were done in two hours`);
  return [
    { name: 'plans of the complete enumeration', value: score.plans, unit: '', asked: { atLeast: 10_000 } },
    { name: 'minutes that it took', value: (performance.now() - began) / 60_000, unit: '', asked: { atMost: 10 } },
    { name: 'faults that happened in it', value: score.fired, unit: '', asked: { atLeast: 10_000 } },
    { name: 'violations in it', value: score.failures.length, unit: '', asked: NONE },
  ];
}

/** Every mutant, and that its runs end well without it. */
async function mutants(): Promise<Figure[]> {
  const unsound = await soundness(MUTANTS);
  const verdicts = await killMutants(MUTANTS, () => undefined);
  const killed = verdicts.filter(({ killedBy }) => killedBy !== undefined);
  const rows = rowsOf(killed);
  return [
    { name: 'runs of mutants that fail without one', value: unsound === undefined ? 0 : 1, unit: '', asked: NONE },
    { name: 'mutants that nothing notices', value: verdicts.length - killed.length, unit: '', asked: NONE },
    { name: 'rows of the catalogue with a killed mutant', value: rows.catalogue, unit: '', asked: { atLeast: 120 } },
    { name: 'bug reports with a killed mutant', value: rows.reports, unit: '', asked: { atLeast: 30 } },
  ];
}

/** Every change that Stryker makes; the longest part. */
async function stryker(): Promise<Figure[]> {
  // It ends with 1 where a score is too low, which the figures say.
  const { error } = spawnSync(process.execPath, ['test/mutation/main.ts'], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (error !== undefined) throw error;
  const report = JSON.parse(readFileSync('dist/mutation.json', 'utf8')) as MutationReport;
  return scoresOf(report).map((score) => ({
    name: `changes noticed, ${score.name}`,
    value: percentOf(score),
    unit: '%',
    asked: { atLeast: score.atLeast },
  }));
}
