import { describe, expect, it } from 'vitest';
import { createMint } from '../../internal/simulator/index.ts';
import { enumerateAll } from './enumerate.ts';
import { COMPLETE, enumeration, shareOf } from './enumeration.ts';

/** About a minute on two free processors; `npm run enumerate` goes through all of it. */
const SHARE = 0.08;

describe('the enumeration', () => {
  it('breaks nothing in the share of it that every change goes through', { timeout: 3_600_000 }, async () => {
    const score = await enumerateAll({ parts: shareOf(COMPLETE, SHARE), seed: 1, seconds: 3_500 });

    expect(score.failures).toEqual([]);
    expect(score.isCut).toBe(false);
    expect(score.plans).toBeGreaterThan(1_500);
    expect(score.fired).toBeGreaterThanOrEqual(score.plans);
  });

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
});
