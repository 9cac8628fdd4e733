import { describe, expect, it } from 'vitest';
import { createMint } from '../../internal/simulator/index.ts';
import { COMPLETE, enumeration, partsOf } from './enumeration.ts';

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

  it('takes all of a topology that is asked for by name, its pairs of reboots included', () => {
    expect(partsOf('1+1,5+0')).toEqual([
      { topology: '1+1', share: 1, of: 'calls' },
      { topology: '5+0', share: 1, of: 'calls' },
      { topology: '5+0', share: 1, of: 'reboots', targets: [['etcd']] },
    ]);
    expect(partsOf(undefined)).toBe(COMPLETE);
    expect(() => partsOf('1+1,2+0')).toThrow('--topology: found "2+0"; expected some of 1+0, 1+1, 3+0, 3+2, 5+0');
  });
});
