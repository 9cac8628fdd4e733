import { describe, expect, it } from 'vitest';
import { unmetNeeds } from './real.ts';

describe('what a suite on real components needs', () => {
  it('is nothing unless it says so', () => {
    expect(unmetNeeds({})).toEqual([]);
  });

  it.runIf(process.platform === 'linux')('is met by Linux on Linux', () => {
    expect(unmetNeeds({ linux: true })).toEqual([]);
  });

  it('refuses a name that is no part', () => {
    expect(() => unmetNeeds({ tools: ['etcdd'] })).toThrow('no part is called etcdd');
  });
});
