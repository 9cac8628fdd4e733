import { describe, expect, it } from 'vitest';
import type { TestModule } from 'vitest/node';
import { countTotals } from './totals-reporter.ts';

/** A module with tests of these states, and with as many errors of its own and of its suites. */
function aModule(states: readonly string[], errors: { own?: number; suites?: readonly number[] } = {}): TestModule {
  const some = (count: number) => Array.from({ length: count }, () => new Error('broken'));
  const module = {
    errors: () => some(errors.own ?? 0),
    children: {
      allTests: () => states.map((state) => ({ result: () => ({ state }) })),
      allSuites: () => (errors.suites ?? []).map((count) => ({ errors: () => some(count) })),
    },
  };
  return module as unknown as TestModule;
}

describe('the totals of a run', () => {
  it('are those of all modules, by how each test ended', () => {
    const modules = [aModule(['passed', 'failed']), aModule(['passed', 'skipped', 'pending'])];

    expect(countTotals(modules, 0)).toEqual({ passed: 2, failed: 1, skipped: 2 });
  });

  it('count a suite whose set-up failed, though its tests are only skipped', () => {
    expect(countTotals([aModule(['skipped', 'skipped'], { suites: [1, 0] })], 0)).toEqual({
      passed: 0,
      failed: 1,
      skipped: 2,
    });
  });

  it('count a module that could not be loaded, and what nobody caught', () => {
    expect(countTotals([aModule([], { own: 1 })], 2)).toEqual({ passed: 0, failed: 3, skipped: 0 });
  });
});
