import { describe, expect, it } from 'vitest';
import { countFailure } from './failures.ts';

describe('failures in a row', () => {
  it('are the same failure though it counts seconds, and begin anew with another one', () => {
    const failures = { text: '', count: 0 };
    const counts = [
      'cordon on cp1: busy; it asked for 12 s more of patience',
      'cordon on cp1: busy; it asked for 10 s more of patience',
      'cordon on cp1: refused',
      'cordon on cp2: refused',
      'cordon on cp2: refused',
    ].map((message) => countFailure(failures, message));

    expect(counts).toEqual([1, 2, 1, 1, 2]);
  });
});
