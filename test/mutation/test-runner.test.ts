import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const RUNNER = new URL('./test-runner.ts', import.meta.url).href;
const NODE = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url));

/** A tree as Stryker leaves it: the code asks for each change by its number whether it is on. */
const TREE: Readonly<Record<string, string>> = {
  'pkg/pki/sums.ts': `
    const shared = (globalThis as any).__stryker__;
    function on(id: string): boolean {
      const { mutantCoverage: passed, currentTestId: test } = shared;
      const counts = test === undefined ? passed.static : (passed.perTest[test] ??= {});
      counts[id] = (counts[id] ?? 0) + 1;
      if (shared.activeMutant !== id) return false;
      shared.hitCount += 1;
      if (shared.hitLimit !== undefined && shared.hitCount > shared.hitLimit) throw new Error('too often');
      return true;
    }
    const ZERO = on('constant') ? 1 : 0;
    let made: number | undefined;
    export function sum(values: readonly number[]): number {
      return values.reduce((a, b) => (on('minus') ? a - b : a + b), ZERO);
    }
    export const two = () => (made ??= on('two') ? 3 : 2);
    export const unseen = () => (on('unseen') ? 1 : 2);
    export function count(): number {
      let times = 0;
      while (on('endless') || times < 3) times += 1;
      return times;
    }
    export const inHook = () => (on('hook') ? 'no' : 'yes');
    if (on('load')) throw new Error('cannot be loaded');
  `,
  'pkg/pki/apart.ts': `
    (globalThis as any).loads = ((globalThis as any).loads ?? 0) + 1;
  `,
  'pkg/pki/sums.test.ts': `
    import './apart.ts';
    import { beforeAll, describe, expect, it } from 'vitest';
    import { count, inHook, sum, two, unseen } from './sums.ts';
    describe('sums', () => {
      let answer = '';
      beforeAll(async () => { answer = inHook(); });
      it('of nothing is nothing', () => expect(sum([])).toBe(0));
      it.each([[[1], 1], [[1, 2], 3]])('of %j', (values, expected) => expect(sum(values)).toBe(expected));
      it('makes two once', () => { expect(two()).toBe(2); expect(two()).toBe(2); });
      it('looks at nothing', () => { unseen(); });
      it('counts', () => expect(count()).toBe(3));
      it('says what its hook read', async () => expect(answer).toBe('yes'));
      it('says what its hook read', () => expect(answer).not.toBe('no'));
      it('keeps a snapshot', () => expect({ a: 1 }).toMatchInlineSnapshot('x'));
    });
  `,
  'pkg/machineconfig/other.test.ts': `
    import { expect, it } from 'vitest';
    it('has nothing to do with sums', () => expect(1).toBe(1));
  `,
};

const SUMS = 'pkg/pki/sums.test.ts#sums > ';

interface Seen {
  readonly dry: {
    readonly tests: readonly { readonly id: string; readonly status: number }[];
    readonly mutantCoverage: { readonly static: object; readonly perTest: Record<string, object> };
  };
  readonly runs: Record<string, object>;
  /** How often the file that does not reach what is changed was loaded before it was changed itself. */
  readonly loads: number;
}

describe('the test runner of the mutation tests', () => {
  let root: string;
  let seen: Seen;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'ichor-mutation-'));
    for (const [path, text] of Object.entries(TREE)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    const wanted = (names: readonly string[]) => names.map((name) => `${SUMS}${name}`);
    const orders = {
      minus: { testFilter: wanted(['of [1]', 'of [1,2]', 'counts']) },
      two: { testFilter: wanted(['makes two once']) },
      'two again': { id: 'two', testFilter: wanted(['makes two once']) },
      unseen: { testFilter: wanted(['looks at nothing']) },
      endless: { testFilter: wanted(['counts']), hitLimit: 300 },
      hook: { testFilter: wanted(['says what its hook read (2)']) },
      constant: {},
      load: {},
      'nothing is changed': { id: 'none' },
    };
    // Right after a change that is passed while sums.ts is loaded.
    const apart = { testFilter: wanted(['of nothing is nothing']) };
    const script = `
      const { strykerPlugins: [{ factory }] } = await import(${JSON.stringify(RUNNER)});
      const runner = factory();
      const run = (file, id, order) => {
        const sandboxFileName = ${JSON.stringify(root)} + '/pkg/pki/' + file;
        return runner.mutantRun({ ...order, activeMutant: { id }, sandboxFileName });
      };
      const dry = structuredClone(await runner.dryRun({ files: [${JSON.stringify(join(root, 'pkg/pki/sums.ts'))}] }));
      const runs = {};
      for (const [name, { id = name, ...order }] of Object.entries(${JSON.stringify(orders)}))
        runs[name] = await run('sums.ts', id, order);
      const { loads } = globalThis;
      await run('sums.ts', 'constant', {});
      runs.apart = await run('apart.ts', 'apart', ${JSON.stringify(apart)});
      process.stdout.write(JSON.stringify({ dry, runs, loads }));
    `;
    const { stdout } = await promisify(execFile)(NODE, ['--input-type=module', '-e', script], { cwd: root });
    seen = JSON.parse(stdout) as Seen;
  });

  afterAll(async () => {
    await rm(root, { recursive: true });
  });

  it('runs the tests that reach what is changed, and leaves out what needs Vitest itself', () => {
    expect(seen.dry.tests.map(({ id, status }) => [id.replace(SUMS, ''), status])).toEqual([
      ['of nothing is nothing', 0],
      ['of [1]', 0],
      ['of [1,2]', 0],
      ['makes two once', 0],
      ['looks at nothing', 0],
      ['counts', 0],
      ['says what its hook read', 0],
      ['says what its hook read (2)', 0],
      ['keeps a snapshot', 2],
    ]);
  });

  it('says which changes each test passes, those of its hooks among them', () => {
    const { static: whileLoading, perTest } = seen.dry.mutantCoverage;

    expect(whileLoading).toEqual({ constant: 1, load: 1 });
    expect(perTest[`${SUMS}of [1,2]`]).toEqual({ hook: 1, minus: 2 });
    expect(perTest[`${SUMS}makes two once`]).toEqual({ hook: 1, two: 1 });
    expect(perTest[`${SUMS}of nothing is nothing`]).toEqual({ hook: 1 });
  });

  it('stops at the first test that notices', () => {
    expect(seen.runs.minus).toEqual({
      status: 'killed',
      killedBy: [`${SUMS}of [1]`],
      failureMessage: 'expected -1 to be 1 // Object.is equality',
      nrOfTests: 1,
    });
  });

  it('finds what only the first call in a process computes, every time', () => {
    const killed = { status: 'killed', killedBy: [`${SUMS}makes two once`] };

    expect(seen.runs.two).toMatchObject(killed);
    expect(seen.runs['two again']).toMatchObject(killed);
  });

  it('loads anew what reaches the change, nothing else, and leaves nothing of it for the next one', () => {
    expect(seen.loads).toBe(1);
    expect(seen.runs.apart).toEqual({ status: 'survived', nrOfTests: 1 });
  });

  it('says when nothing notices', () => {
    expect(seen.runs.unseen).toEqual({ status: 'survived', nrOfTests: 1 });
    expect(seen.runs['nothing is changed']).toEqual({ status: 'survived', nrOfTests: 8 });
  });

  it('ends a loop that a change makes endless', () => {
    expect(seen.runs.endless).toEqual({
      status: 'timeout',
      reason: 'passed 301 times, which is more than 300',
    });
  });

  it('changes what hooks do', () => {
    expect(seen.runs.hook).toMatchObject({ status: 'killed', killedBy: [`${SUMS}says what its hook read (2)`] });
  });

  it('changes what is passed while a file is loaded', () => {
    expect(seen.runs.constant).toMatchObject({ status: 'killed', killedBy: [`${SUMS}of nothing is nothing`] });
    expect(seen.runs.load).toMatchObject({
      status: 'killed',
      killedBy: [],
      failureMessage: 'pkg/pki/sums.test.ts: Error: cannot be loaded',
    });
  });
});
