import type { Reporter, TestModule } from 'vitest/node';

/** Counts of one run, as the last line shows them. */
export interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Adds up every test of every module. A module that could not be loaded counts as a
 * failure, and so does each failed set-up or tear-down of a suite: its tests are merely skipped.
 */
export function countTotals(modules: readonly TestModule[], unhandled: number): Totals {
  const totals: Totals = { passed: 0, failed: unhandled, skipped: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') totals.passed += 1;
      else if (state === 'failed') totals.failed += 1;
      else totals.skipped += 1;
    }
    totals.failed += module.errors().length;
    for (const suite of module.children.allSuites()) totals.failed += suite.errors().length;
  }
  return totals;
}

/** Prints `N passed, N failed, N skipped` alone on the last line, which is what continuous integration reads. */
export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const { passed, failed, skipped } = countTotals(modules, unhandled.length);
    // After the other reporters have written their summary.
    process.once('exit', () => process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`));
  }
}
