import { globSync } from 'node:fs';
import { relative } from 'node:path';
import { type CollectedTest, collectTests, prepare } from './collected-tests.ts';
import { type FreshModules, freshModules, nearestFirst } from './fresh-modules.ts';

/** The tests beside the code that is changed; those that go through thousands of cases would take minutes for every change. */
const TESTS = '{internal/rotation,pkg/pki,pkg/machineconfig}/**/*.test.ts';
const TOO_LONG = [
  'internal/rotation/{loop,properties}.test.ts',
  'pkg/machineconfig/{bulk-input,laws}.test.ts',
  'pkg/pki/bulk-input.test.ts',
];

/** What Vitest's snapshots say without its own runner. */
const NEEDS_VITEST = 'cannot be used without test context';

/** What instrumented code shares with whoever runs it, as the global `__stryker__`. */
interface Shared {
  activeMutant: string | undefined;
  currentTestId: string | undefined;
  /** How often each mutant was passed, by its ID: while files were loaded, and in each test. */
  readonly mutantCoverage: {
    readonly static: Record<string, number>;
    readonly perTest: Record<string, Record<string, number>>;
  };
  /** How often the active mutant was passed; instrumented code throws beyond the limit, which ends endless loops. */
  hitCount: number;
  hitLimit: number | undefined;
}

/** One test as Stryker knows it; status 0 is passed, 1 is failed, 2 is left out. */
interface TestResult {
  readonly id: string;
  readonly name: string;
  readonly timeSpentMs: number;
  readonly status: 0 | 1 | 2;
  readonly failureMessage: string;
}

/** The part of Stryker's order to run every test that is read. */
interface DryRun {
  /** Files with mutants; where they are given, tests that reach none of them are left out. */
  readonly files?: readonly string[];
}

/** The part of Stryker's order to try a mutant that is read. */
interface MutantRun {
  readonly activeMutant: { readonly id: string };
  /** Tests that pass the mutant; undefined for one that is passed while files are loaded. */
  readonly testFilter?: readonly string[];
  readonly sandboxFileName: string;
  readonly hitLimit?: number;
}

type MutantResult =
  | {
      readonly status: 'killed';
      readonly killedBy: string[];
      readonly failureMessage: string;
      readonly nrOfTests: number;
    }
  | { readonly status: 'survived'; readonly nrOfTests: number }
  | { readonly status: 'timeout'; readonly reason: string };

/** A runner for Stryker, which makes one in a process of its own and ends that after `maxTestRunnerReuse` mutants. */
function createRunner() {
  const root = process.cwd();
  const modules = freshModules(root, { vitest: new URL('./collected-tests.ts', import.meta.url).href });
  const shared: Shared = {
    activeMutant: undefined,
    currentTestId: undefined,
    mutantCoverage: { static: {}, perTest: {} },
    hitCount: 0,
    hitLimit: undefined,
  };
  Object.assign(globalThis, { __stryker__: shared });
  // A promise that a mutant leaves behind must not end the process: tests judge.
  process.on('unhandledRejection', () => undefined);
  const files = globSync(TESTS, { cwd: root, exclude: TOO_LONG }).sort();
  return {
    capabilities: () => ({ reloadEnvironment: true }),
    init: async () => undefined,
    dispose: async () => undefined,
    dryRun: (order: DryRun) => {
      const changed = order.files?.map((file) => relative(root, file));
      return dryRun(shared, modules, { files, changed });
    },
    mutantRun: (order: MutantRun) => {
      const changed = relative(root, order.sandboxFileName);
      return mutantRun(shared, modules, { files, changed, order });
    },
  };
}

/** Every test once, without a mutant: do they pass, and which mutants does each of them pass. */
async function dryRun(
  shared: Shared,
  modules: FreshModules,
  { files, changed }: { readonly files: readonly string[]; readonly changed: readonly string[] | undefined },
) {
  const tests: TestResult[] = [];
  const { perTest } = shared.mutantCoverage;
  for (const file of files) {
    modules.renew();
    const collected = await collectTests(() => modules.load(file));
    const reached = modules.reachedFrom(file);
    if (changed?.some((each) => reached.has(each)) === false) continue;
    const hooks = `${file}#`;
    for (const test of collected) tests.push(await runTest(shared, file, test, hooks));
    // What hooks pass, any test of the file may notice: hooks run again for whichever comes first.
    for (const test of collected) perTest[idOf(file, test)] = sumOf(perTest[idOf(file, test)], perTest[hooks]);
    delete perTest[hooks];
  }
  return { status: 'complete', tests, mutantCoverage: shared.mutantCoverage };
}

function sumOf(one: Readonly<Record<string, number>> = {}, other: Readonly<Record<string, number>> = {}) {
  const sum = { ...one };
  for (const [mutant, times] of Object.entries(other)) sum[mutant] = (sum[mutant] ?? 0) + times;
  return sum;
}

interface Attempt {
  readonly files: readonly string[];
  /** The file that holds the mutant. */
  readonly changed: string;
  readonly order: MutantRun;
}

/** The tests that can notice a mutant, on fresh copies of all modules that reach it, until one does. */
async function mutantRun(shared: Shared, modules: FreshModules, attempt: Attempt): Promise<MutantResult> {
  // Before: no cache may hide the mutant. After: nothing that was loaded with it may stay.
  modules.renew(attempt.changed);
  try {
    return await runFiles(shared, modules, attempt);
  } finally {
    modules.renew(attempt.changed);
  }
}

async function runFiles(shared: Shared, modules: FreshModules, attempt: Attempt): Promise<MutantResult> {
  const { files, changed, order } = attempt;
  const { testFilter, hitLimit } = order;
  const isWanted = (file: string) => testFilter === undefined || testFilter.some((id) => id.startsWith(`${file}#`));
  Object.assign(shared, { hitCount: 0, hitLimit });
  let nrOfTests = 0;
  for (const file of nearestFirst(files, changed).filter(isWanted)) {
    const result = await runFile(shared, modules, file, attempt);
    if (result.status !== 'survived') return result;
    nrOfTests += result.nrOfTests;
  }
  return { status: 'survived', nrOfTests };
}

async function runFile(
  shared: Shared,
  modules: FreshModules,
  file: string,
  { changed, order: { testFilter, activeMutant, hitLimit } }: Attempt,
): Promise<MutantResult> {
  // What is passed while files are loaded is changed there too; everything else when its tests run.
  shared.activeMutant = testFilter === undefined ? activeMutant.id : undefined;
  let tests: readonly CollectedTest[];
  try {
    tests = await collectTests(() => modules.load(file));
  } catch (error) {
    return { status: 'killed', killedBy: [], failureMessage: `${file}: ${String(error)}`, nrOfTests: 0 };
  }
  let nrOfTests = 0;
  if (!modules.reachedFrom(file).has(changed)) return { status: 'survived', nrOfTests };
  shared.activeMutant = activeMutant.id;
  const wanted = new Set(testFilter ?? tests.map((test) => idOf(file, test)));
  for (const test of tests.filter((each) => wanted.has(idOf(file, each)))) {
    const { id, status, failureMessage } = await runTest(shared, file, test);
    if (status === 2) continue;
    nrOfTests += 1;
    if (hitLimit !== undefined && shared.hitCount > hitLimit) {
      return { status: 'timeout', reason: `passed ${shared.hitCount} times, which is more than ${hitLimit}` };
    }
    if (status === 1) return { status: 'killed', killedBy: [id], failureMessage, nrOfTests };
  }
  return { status: 'survived', nrOfTests };
}

function idOf(file: string, test: CollectedTest): string {
  return `${file}#${test.name}`;
}

async function runTest(shared: Shared, file: string, test: CollectedTest, hooksId?: string): Promise<TestResult> {
  const id = idOf(file, test);
  const begun = performance.now();
  const result = (status: TestResult['status'], failureMessage: string): TestResult => ({
    id,
    name: id,
    timeSpentMs: Math.round(performance.now() - begun),
    status,
    failureMessage,
  });
  try {
    shared.currentTestId = hooksId;
    await prepare(test.suites);
    shared.currentTestId = id;
    await test.run();
    return result(0, '');
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return result(message.includes(NEEDS_VITEST) ? 2 : 1, message);
  } finally {
    shared.currentTestId = undefined;
  }
}

/** How Stryker finds the runner: a plugin by its kind and name, made by a factory without dependencies. */
export const strykerPlugins = [
  { kind: 'TestRunner', name: 'fresh-modules', factory: Object.assign(createRunner, { inject: [] }) },
];
