import { describe, expect, it } from 'vitest';
import { createMint, run, type Scenario } from '../../internal/simulator/index.ts';
import { type EnumerateOptions, enumerateShard } from './enumerate.ts';
import { COMPLETE, enumeration, partsOf } from './enumeration.ts';
import { plain, TARGET_SETS } from './scenarios.ts';

describe('the enumeration', () => {
  it('gives every plan to exactly one process, and the same plans for the same seed', async () => {
    const mint = await createMint(2);
    const parts = [{ topology: '1+0', share: 0.05, of: 'calls', targets: [['talos'], ['etcd']] }] as const;
    async function plansOf(index: number, of: number): Promise<string[]> {
      const plans: string[] = [];
      for await (const scenario of enumeration(parts, { mint, seed: 1, shard: { index, of } }))
        plans.push(JSON.stringify(scenario));
      return plans;
    }

    const whole = await plansOf(0, 1);
    const halves = [...(await plansOf(0, 2)), ...(await plansOf(1, 2))];

    expect(whole.length).toBeGreaterThan(10);
    expect(halves.toSorted()).toEqual(whole.toSorted());
  });

  it('has another program take over at every call of the world that it runs in', async () => {
    const mint = await createMint(2);
    const parts = [{ topology: '1+0', share: 1, of: 'calls', targets: [['etcd']] }] as const;
    const scenarios: Scenario[] = [];
    for await (const each of enumeration(parts, { mint, seed: 1, shard: { index: 0, of: 1 } })) {
      if (each.faults?.[0]?.outcome === 'taken-over') scenarios.push(each);
    }

    const [{ faults: _, ...world } = plain('1+0', ['etcd'])] = scenarios;
    const { calls } = await run(world, { mint, checkers: [] });
    expect(scenarios.map(({ faults }) => faults?.[0]?.at)).toEqual([...calls.keys()]);
  });

  it('takes all of a topology that is asked for by name, its pairs of reboots included', () => {
    const targets = TARGET_SETS;
    expect(partsOf('1+1,5+0')).toEqual([
      { topology: '1+1', share: 1, of: 'calls', targets },
      { topology: '5+0', share: 1, of: 'calls', targets },
      { topology: '5+0', share: 1, of: 'reboots', targets: [['etcd']] },
    ]);
    expect(partsOf(undefined)).toBe(COMPLETE);
    expect(() => partsOf('1+1,2+0')).toThrow('--topology: found "2+0"; expected some of 1+0, 1+1, 3+0, 3+2, 5+0');
  });

  it('has every set of targets, some of them by request', () => {
    const setsOf = (sets: string) => partsOf('1+1', sets).flatMap(({ targets }) => targets ?? []);
    const names = (sets: string) => setsOf(sets).map((targets) => targets.toSorted().join());

    expect(new Set(names('every')).size).toBe(2 ** 4 - 1);
    expect(names('every')).toEqual([...names('usual'), ...names('other')]);
    expect(() => partsOf('1+1', 'some')).toThrow('--target-sets: found "some"; expected one of usual, other, every');
    expect(() => partsOf(undefined, 'every')).toThrow('--target-sets every needs --topology');
  });
});

describe('an enumeration whose time is over', () => {
  const part = { topology: '1+0', share: 0.05, of: 'calls', targets: [['talos']] } as const;
  const rest = { ...part, mayEndEarly: true } as const;
  const shard = { index: 0, of: 8 };
  const scoreOf = (options: Pick<EnumerateOptions, 'seconds' | 'secondsForTheRest'>) =>
    enumerateShard({ parts: [rest, part], seed: 1, ...options }, shard);

  it('is cut short, and says so', async () => {
    expect(await scoreOf({ seconds: 0 })).toMatchObject({ plans: 0, isCut: true, endedEarly: false });
  });

  it('leaves out the rest of what may end early alone, where there is a time for that', async () => {
    const whole = await scoreOf({ seconds: 600 });
    const early = await scoreOf({ seconds: 600, secondsForTheRest: 0 });

    expect(whole).toMatchObject({ isCut: false, endedEarly: false, failures: [] });
    expect(early).toMatchObject({ plans: whole.plans / 2, isCut: false, endedEarly: true, failures: [] });
  });
});
