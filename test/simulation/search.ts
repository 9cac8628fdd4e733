import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { CaTarget } from '../../api/v1alpha1/index.ts';
import {
  CHECKERS,
  createMint,
  type Mint,
  type RunResult,
  recoveryFaults,
  run,
  type Scenario,
  singleFaults,
} from '../../internal/simulator/index.ts';
import { plain, shortened, swarm, TARGET_SETS, TOPOLOGIES } from './scenarios.ts';
import { shrink } from './shrink.ts';
import { storyOf } from './story.ts';
import { failuresOf } from './verdict.ts';

/** Searches for a run that breaks a property; `kill-mutants.ts` shows that it would find one. See `docs/reference/simulator.md`. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '30' },
    /** One run, as a failed one printed it. */
    scenario: { type: 'string' },
    /** A file with a list of them. */
    scenarios: { type: 'string' },
    shrink: { type: 'string', default: 'yes' },
    /** Every call and outcome of one topology and target set, as in `3+0:etcd,talos`. */
    enumerate: { type: 'string' },
    /** The swarm in a brisk world, whose rotations take a fifth of the looks. */
    short: { type: 'boolean', default: false },
    /** Every topology and target set without a fault. */
    free: { type: 'boolean', default: false },
    /** Only every so many plans of an enumeration. */
    every: { type: 'string', default: '1' },
    lines: { type: 'string', default: '60' },
    stop: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});

const endsAt = performance.now() + Number(values.seconds) * 1_000;
const mint = await createMint(2);
const totals = { runs: 0, fired: 0, looks: 0, helped: 0, failed: 0 };

for await (const scenario of scenarios(mint)) {
  if (performance.now() > endsAt && values.scenario === undefined) {
    say('time is over');
    break;
  }
  await judge(scenario);
  if (totals.failed >= Number(values.stop)) break;
}
say(
  `${totals.runs} runs, ${totals.fired} faults fired, ${totals.looks} looks, ${totals.helped} with a person's help, ${totals.failed} failed, ${Math.round(process.cpuUsage().user / 1_000)} ms of processor time`,
);
process.exitCode = totals.failed === 0 ? 0 : 1;

async function* scenarios(stock: Mint): AsyncGenerator<Scenario> {
  if (values.scenario !== undefined) yield JSON.parse(values.scenario) as Scenario;
  else if (values.scenarios !== undefined) yield* JSON.parse(readFileSync(values.scenarios, 'utf8')) as Scenario[];
  else if (values.free) {
    for (const topology of TOPOLOGIES) for (const targets of TARGET_SETS) yield plain(topology, targets);
  } else if (values.enumerate !== undefined) {
    const [topology = '1+0', targets = 'talos'] = values.enumerate.split(':');
    const base = plain(topology, targets.split(',') as CaTarget[], Number(values.seed));
    const { calls } = await run(base, { mint: stock, checkers: [] });
    const plans = [...singleFaults(calls), ...recoveryFaults(calls)];
    for (const [index, faults] of plans.entries()) {
      if (index % Number(values.every) === Number(values.seed) % Number(values.every)) yield { ...base, faults };
    }
  } else for (let seed = Number(values.seed); ; seed += 1) yield values.short ? shortened(swarm(seed)) : swarm(seed);
}

async function judge(scenario: Scenario): Promise<void> {
  const began = process.cpuUsage().user;
  const result = await attempt(scenario);
  const tookMs = Math.round((process.cpuUsage().user - began) / 1_000);
  if (values.verbose) say(`seed ${scenario.seed}: ${briefly(result)}, ${tookMs} ms`);
  totals.runs += 1;
  totals.fired += result.fired.length;
  totals.looks += result.looks;
  totals.helped += result.helped === undefined ? 0 : 1;
  if (values.free)
    say(`${scenario.controlPlanes}+${scenario.workers} ${scenario.targets.join(',')}: ${briefly(result)}`);
  const failures = failuresOf(scenario, result);
  if (failures.length === 0) return;
  totals.failed += 1;
  const small =
    values.scenario === undefined && values.shrink === 'yes'
      ? await shrink(scenario, result, attempt)
      : { scenario, result };
  say(storyOf(small.scenario, small.result, { lines: Number(values.lines) }));
}

function attempt(scenario: Scenario): Promise<RunResult> {
  return run(scenario, { mint, checkers: CHECKERS });
}

function briefly({ end, looks, calls, took, hash, helped }: RunResult): string {
  return `${end}${helped === undefined ? '' : `, ${helped}`}, ${Math.round(took / 1_000)} s, ${calls.length} calls, ${looks} looks, hash ${hash}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
