import { describe, expect, it } from 'vitest';
import type { CaTarget } from '../../../api/v1alpha1/index.ts';
import { planOf } from '../../../internal/rotation/plan.ts';
import { anObservation, type ObservationOptions } from '../../builders/rotation.ts';
import { floorOf } from './floor.ts';

const MEASURED = { boots: [50_000, 70_000], apiServerRestarts: [20_000, 22_000, 24_000] };

function floor(targets: readonly CaTarget[], options: ObservationOptions = {}) {
  return floorOf(planOf(anObservation({ stage: 'Pending', targets, ...options })), MEASURED);
}

describe('the floor of a rotation', () => {
  it('of four CAs is six boots, nine restarts and the two settles of two minutes', () => {
    expect(floor(['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'])).toEqual({
      boots: 6,
      bootMs: 60_000,
      apiServerRestarts: 9,
      apiServerRestartMs: 22_000,
      settlesMs: 240_000,
      totalMs: 798_000,
    });
  });

  it('of talos and kubernetes is nine restarts and the watch after the reset', () => {
    expect(floor(['talos', 'kubernetes'])).toMatchObject({
      boots: 0,
      apiServerRestarts: 9,
      settlesMs: 120_000,
      totalMs: 318_000,
    });
  });

  it('of etcd alone is six boots and nothing else', () => {
    expect(floor(['etcd'])).toMatchObject({ boots: 6, apiServerRestarts: 0, settlesMs: 0, totalMs: 360_000 });
  });

  it('of talos alone is nothing: no process restarts', () => {
    expect(floor(['talos'])).toMatchObject({ boots: 0, apiServerRestarts: 0, settlesMs: 0, totalMs: 0 });
  });

  it('refuses to be computed of nothing', () => {
    const plan = planOf(anObservation({ stage: 'Pending', targets: ['etcd'] }));

    expect(() => floorOf(plan, { boots: [], apiServerRestarts: [1] })).toThrow('nothing was measured');
  });
});
