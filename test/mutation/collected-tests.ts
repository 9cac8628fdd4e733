import { format } from 'node:util';
import { expect } from 'vitest';

/**
 * Stands in for `vitest` in test files that run under a mutant: the part of its
 * interface that those files use, with its own `expect`. Vitest itself starts a
 * worker for every run, which takes a hundred times as long as the tests do.
 */
export { beforeAll, describe, expect, it };

type Body = (...values: never[]) => unknown;

/** A `describe`, or a whole file. */
interface Suite {
  readonly parent: Suite | undefined;
  readonly name: string;
  readonly before: Body[];
  /** What the hooks of this suite and of those around it have come to; undefined before the first test that needs them. */
  ready?: Promise<void>;
}

/** One test of a file, to be run once. */
export interface CollectedTest {
  /** Names of the suites around it and its own, unique in its file. */
  readonly name: string;
  /** The suites around it, the outermost first. */
  readonly suites: readonly Suite[];
  readonly run: () => Promise<void>;
}

const collecting: { suite: Suite; tests: CollectedTest[]; names: Map<string, number> } = {
  suite: aSuite(undefined, ''),
  tests: [],
  names: new Map(),
};

/** What the file that `load` imports declares, in its order. */
export async function collectTests(load: () => Promise<unknown>): Promise<readonly CollectedTest[]> {
  collecting.suite = aSuite(undefined, '');
  collecting.tests = [];
  collecting.names = new Map();
  await load();
  return collecting.tests;
}

/** Runs what the suites around a test ask for before their first test; done once, and failing for all of them. */
export function prepare(suites: readonly Suite[]): Promise<void> {
  return suites.reduce(async (outer, suite) => {
    await outer;
    suite.ready ??= (async () => {
      for (const hook of suite.before) await hook();
    })();
    await suite.ready;
  }, Promise.resolve());
}

function aSuite(parent: Suite | undefined, name: string): Suite {
  return { parent, name, before: [] };
}

function beforeAll(hook: Body): void {
  collecting.suite.before.push(hook);
}

function describe(name: string, body: Body): void {
  const parent = collecting.suite;
  collecting.suite = aSuite(parent, name);
  body();
  collecting.suite = parent;
}

function it(name: string, body: Body): void {
  const { suite, names } = collecting;
  const suites = around(suite);
  const full = [...suites.slice(1).map((each) => each.name), name].join(' > ');
  const times = (names.get(full) ?? 0) + 1;
  names.set(full, times);
  collecting.tests.push({
    name: times === 1 ? full : `${full} (${times})`,
    suites,
    run: async () => {
      await body();
    },
  });
}

/** As in Vitest: a row that is an array is the arguments, any other the only one. */
function each(declare: (name: string, body: Body) => void) {
  return (rows: readonly unknown[]) => (name: string, body: Body) => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row];
      const shown = values.slice(0, (name.match(/%[sdifj]/g) ?? []).length);
      declare(format(name, ...shown), () => body(...(values as never[])));
    }
  };
}

describe.each = each(describe);
it.each = each(it);

function around(suite: Suite): Suite[] {
  return suite.parent === undefined ? [suite] : [...around(suite.parent), suite];
}
