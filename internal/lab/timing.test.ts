import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { MEASURED } from '../simulator/index.ts';
import { labTiming } from './timing.ts';

describe('labTiming', () => {
  it('is what was measured where machines boot as real ones do', () => {
    assert.deepEqual(labTiming(13), MEASURED);
  });

  it('keeps the proportions of everything in a quicker lab', () => {
    const { boot, etcdStart, eviction } = labTiming(6.5);

    assert.deepEqual(
      [boot, etcdStart, eviction],
      [
        [5_000, 8_000],
        [1_500, 3_000],
        [500, 2_500],
      ],
    );
  });

  it('leaves a machine the time to tell of a reboot before it goes down, and loops their sense', () => {
    const { shutdown, pace } = labTiming(0.5);

    assert.deepEqual([shutdown, pace], [[1_000, 1_000], 0.2]);
  });
});
