import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createMint,
  createRandom,
  type Fault,
  type Happening,
  type Mint,
  OUTCOMES,
  type RunResult,
  recoveryFaults,
  run,
  type Scenario,
  singleFaults,
} from '../../../internal/simulator/index.ts';
import { buildPatched } from '../patched.ts';
import { plain } from '../scenarios.ts';
import { followedBy } from './follow.ts';
import { FOLLOWED, REFUSED_REPETITION } from './production-mutants.ts';

let mint: Mint;
beforeAll(async () => {
  mint = await createMint(2);
});

/** A run that is asked nothing but whether the model allows it. */
function follow(scenario: Scenario): Promise<RunResult> {
  return run(scenario, { mint, checkers: [followedBy(scenario)] });
}

async function refusalsOf(
  scenarios: readonly Scenario[],
): Promise<{ readonly refused: string[]; readonly fired: number }> {
  const refused: string[] = [];
  let fired = 0;
  for (const scenario of scenarios) {
    const result = await follow(scenario);
    fired += result.fired.length;
    refused.push(...result.violations.map(({ message }) => `${JSON.stringify(scenario)}: ${message}`));
  }
  return { refused, fired };
}

describe('what the program does is a way of the model', () => {
  it.each([
    ['1+0', 'etcd'],
    ['3+0', 'etcd'],
    ['3+2', 'etcd,kubernetes-aggregator'],
    ['3+2', 'talos,kubernetes,etcd,kubernetes-aggregator'],
    ['5+0', 'talos,etcd'],
  ])('%s, %s, without any fault', async (topology, targets) => {
    const result = await follow(plain(topology, targets.split(',') as Scenario['targets']));

    expect(result.violations).toEqual([]);
    expect(result.end).toBe('done');
  });

  it.each([
    ['1+0', 7],
    ['3+0', 61],
  ])('on %s through every outcome of calls and every crash, one plan of %s', async (topology, every) => {
    const base = plain(topology, ['etcd']);
    const { calls } = await follow(base);
    const plans: Fault[][] = [...singleFaults(calls), ...recoveryFaults(calls)].filter((_, at) => at % every === 0);

    const { refused, fired } = await refusalsOf(plans.map((faults) => ({ ...base, faults })));

    expect(refused).toEqual([]);
    expect(fired).toBeGreaterThanOrEqual(plans.length);
  });

  it('where others reboot, unplug and restore machines, and calls fail as well', async () => {
    const scenarios = Array.from({ length: 12 }, (_, index) => disturbed(index + 1));

    const { refused, fired } = await refusalsOf(scenarios);

    expect(refused).toEqual([]);
    expect(fired).toBeGreaterThan(10);
  });

  it('where a repetition of a reboot is refused while the machine takes seven minutes to go down', async () => {
    const { violations, fired, calls } = await follow(REFUSED_REPETITION);

    expect(violations).toEqual([]);
    expect(fired.map(({ at }) => calls[at])).toEqual(['Reboot cp1']);
  });
});

/** Something happens to one control plane, and calls fail now and then; drawn from a seed. */
function disturbed(seed: number): Scenario {
  const random = createRandom(seed, 'conformance');
  const base = plain(random.pick(['1+0', '3+0', '3+1']), random.pick([['etcd'], ['talos', 'etcd']] as const), seed);
  const machine = base.controlPlanes === 1 ? 'cp1' : random.pick(['cp1', 'cp2', 'cp3']);
  const at = (): number => random.between(1_000, 300_000);
  const makers: readonly (() => Happening)[] = [
    () => ({ at: at(), what: 'reboot', machine }),
    () => ({ at: at(), what: 'power-loss', machine, forMs: random.between(5_000, 90_000) }),
    () => ({ at: at(), what: 'etcd-stop', machine, forMs: random.between(5_000, 90_000) }),
    ...(base.controlPlanes === 1 ? [] : [(): Happening => ({ at: at(), what: 'restore', machine })]),
  ];
  return {
    ...base,
    faultRate: random.pick([0, 0.02, 0.1]),
    outcomes: OUTCOMES.filter((outcome) => outcome !== 'ok' && random.chance(0.5)),
    happenings: Array.from({ length: random.pick([1, 2]) }, () => random.pick(makers)()),
  };
}

describe('the model does not allow what a faulty program does', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'followed-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(FOLLOWED)('$mutant.name', async ({ mutant, scenarios }) => {
    const program = join(folder, 'followed.mjs');
    const file = join(folder, 'scenarios.json');
    await buildPatched(mutant, 'test/simulation/model/followed.ts', program);
    writeFileSync(file, JSON.stringify(scenarios));

    expect(said(program, file)).toMatch(/^REFUSED \d+\.\d s: the model does not allow what follows from /);
  });

  it('and has nothing against the program as it is', async () => {
    const program = join(folder, 'followed.mjs');
    const file = join(folder, 'scenarios.json');
    await buildPatched({ name: 'none', edits: [] }, 'test/simulation/model/followed.ts', program);
    writeFileSync(file, JSON.stringify([FOLLOWED[0]?.scenarios[0]]));

    expect(said(program, file)).toBe('');
  });
});

/** What the program that follows runs says; it ends with 1 where it refuses one. */
function said(program: string, file: string): string {
  try {
    return execFileSync(process.execPath, [program, file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { status, stdout } = error as { status?: number; stdout?: string };
    if (status !== 1) throw error;
    return stdout ?? '';
  }
}
