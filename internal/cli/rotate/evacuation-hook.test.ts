import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { aFolder, type TestFolder } from '../../../test/builders/cli.ts';
import { checkHook, createEvacuationHook, type HookOptions } from './evacuation-hook.ts';

/** A hook that is this shell script, and how it is asked about cp1. */
function aHook(folder: TestFolder, script: string, options: Partial<HookOptions> = {}) {
  const program = join(folder.path, 'hook');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  const hook = createEvacuationHook({
    env: { PATH: process.env.PATH },
    directory: folder.path,
    signal: new AbortController().signal,
    ...options,
  });
  const ask = (call: 'evacuate' | 'readmit' = 'evacuate') =>
    hook.ask({ program, call, machine: 'cp1', address: '10.0.0.1', node: 'node-of-cp1', operation: 'rotate-1' });
  return { program, ask };
}

/** A file that a test reads once it is there and not empty. */
async function written(path: string): Promise<string> {
  while (!existsSync(path) || readFileSync(path, 'utf8') === '') await new Promise((resolve) => setImmediate(resolve));
  return readFileSync(path, 'utf8').trim();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // Who has ended and was not waited for is dead as well.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Whoever was killed takes a moment to be gone. */
async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
}

describe('what a hook says by how it ends', () => {
  it.each([
    ['exit 0', { outcome: 'Done', found: 'exit code 0' }],
    ['echo moved; exit 0', { outcome: 'Done', found: 'exit code 0: moved' }],
    ['echo 3 left; exit 75', { outcome: 'NotYet', found: 'exit code 75: 3 left' }],
    ['exit 1', { outcome: 'Refused', found: 'exit code 1' }],
    [
      'echo to stdout; echo no such node >&2; exit 74',
      { outcome: 'Refused', found: 'exit code 74: to stdout / no such node' },
    ],
    // The shell that waits for it says of a signal what every shell says.
    ['kill -TERM $$', { outcome: 'Refused', found: 'exit code 143' }],
  ])('%s', async (script, expected) => {
    using folder = aFolder();

    assert.deepEqual(await aHook(folder, script).ask(), expected);
  });

  it('keeps the end of what it prints, however much that is', async () => {
    using folder = aFolder();
    const chatty = aHook(folder, 'i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; exit 75');

    assert.deepEqual(await chatty.ask(), {
      outcome: 'NotYet',
      found: 'exit code 75: line 19997 / line 19998 / line 19999',
    });
  });

  it('says nothing of a line whose beginning is gone: nobody can tell what it was', async () => {
    using folder = aFolder();
    const { ask } = aHook(folder, 'i=0; while [ $i -lt 3000 ]; do printf "k%s. " $i; i=$((i+1)); done; exit 75');

    assert.deepEqual(await ask(), { outcome: 'NotYet', found: 'exit code 75' });
  });

  it('is refused where it cannot be executed', async () => {
    using folder = aFolder();
    const { program, ask } = aHook(folder, 'exit 0');

    chmodSync(program, 0o644);
    const noProgram = await ask();
    rmSync(program);
    const nothing = await ask();

    assert.deepEqual(noProgram, { outcome: 'Refused', found: 'cannot be executed: EACCES' });
    assert.deepEqual(nothing, { outcome: 'Refused', found: 'cannot be executed: ENOENT' });
  });
});

describe('a hook that is named on the command line', () => {
  it('is refused where it cannot be executed, and is not run otherwise', async () => {
    using folder = aFolder();
    const { program } = aHook(folder, 'touch ran');

    await checkHook(program);
    chmodSync(program, 0o644);

    await assert.rejects(checkHook(program), {
      exit: 'usage',
      message: `--evacuation-hook: ${program} cannot be executed: EACCES`,
      advice: 'Nothing was done.',
    });
    await assert.rejects(checkHook(`${program}-gone`), { message: /-gone cannot be executed: ENOENT$/ });
    await assert.rejects(checkHook(folder.path), { message: / is no file$/ });
    assert.ok(!existsSync(join(folder.path, 'ran')));
  });
});

describe('what a hook is given', () => {
  const TELL = 'echo "$1 $2 $#" >told; pwd >where; env >environment; cat >input; exit 0';

  it('the call and the Node, in the cluster directory, with nothing on its input', async () => {
    using folder = aFolder();
    const { ask } = aHook(folder, TELL);

    await ask('readmit');

    assert.equal(readFileSync(join(folder.path, 'told'), 'utf8'), 'readmit node-of-cp1 2\n');
    assert.equal(readFileSync(join(folder.path, 'where'), 'utf8').trim(), realpathSync(folder.path));
    assert.equal(readFileSync(join(folder.path, 'input'), 'utf8'), '');
  });

  it.each([true, false])(
    'our environment without what is ours, and what it is about; a kubeconfig is there: %s',
    async (hasKubeconfig) => {
      using folder = aFolder();
      if (hasKubeconfig) writeFileSync(join(folder.path, 'kubeconfig'), 'secret', { mode: 0o600 });
      const env = {
        PATH: process.env.PATH,
        KUBECONFIG: '/home/me/config',
        ICHOR_PASSPHRASE: 'open sesame',
        ICHOR_KUBECONFIG: '/of/another/cluster',
      };

      await aHook(folder, TELL, { env }).ask();

      const lines = readFileSync(join(folder.path, 'environment'), 'utf8').split('\n');
      assert.deepEqual(lines.filter((line) => /^(ICHOR_|KUBECONFIG)/.test(line)).sort(), [
        'ICHOR_ADDRESS=10.0.0.1',
        ...(hasKubeconfig ? [`ICHOR_KUBECONFIG=${join(folder.path, 'kubeconfig')}`] : []),
        'ICHOR_MACHINE=cp1',
        'ICHOR_NODE=node-of-cp1',
        'ICHOR_OPERATION=rotate-1',
        'KUBECONFIG=/home/me/config',
      ]);
    },
  );
});

describe('a hook that does not end', () => {
  /** It has a child of its own, prints a line and waits for ever. */
  const HANGS = 'sleep 1000 & echo $! >child; echo copying; echo $$ >self; sleep 1000';

  it('is killed with its children when its time is over, and that is said', async () => {
    using folder = aFolder();
    const { ask } = aHook(folder, HANGS, { timeoutMs: 3_000 });

    const answer = await ask();

    assert.deepEqual(answer, { outcome: 'Refused', found: 'it had not ended after 3 s and was killed: copying' });
    for (const name of ['child', 'self']) await gone(Number(readFileSync(join(folder.path, name), 'utf8')));
  });

  it('is killed at once when somebody wants to leave, and is asked again later', async () => {
    using folder = aFolder();
    const leaving = new AbortController();
    const asked = aHook(folder, HANGS, { signal: leaving.signal }).ask();
    const pid = Number(await written(join(folder.path, 'self')));

    leaving.abort();

    assert.deepEqual(await asked, {
      outcome: 'NotYet',
      found: 'it was stopped because ichor was told to leave',
    });
    await gone(pid);
  });

  it('is not waited for where somebody wanted to leave before', async () => {
    using folder = aFolder();
    const { ask } = aHook(folder, HANGS, { signal: AbortSignal.abort() });

    assert.equal((await ask()).outcome, 'NotYet');
  });

  it('is killed with whoever asked, also where that one could say nothing any more', async () => {
    using folder = aFolder();
    const { program } = aHook(folder, HANGS);
    const source = JSON.stringify(join(import.meta.dirname, 'evacuation-hook.ts'));
    const call = { program, call: 'evacuate', machine: 'cp1', address: '', node: 'cp1', operation: 'rotate-1' };
    const asks = `import { createEvacuationHook } from ${source};
      const options = { env: process.env, directory: ${JSON.stringify(folder.path)}, signal: new AbortController().signal };
      await createEvacuationHook(options).ask(${JSON.stringify(call)});`;
    const asker = spawn(process.execPath, ['--input-type=module-typescript', '-e', asks], { stdio: 'ignore' });
    const ended = once(asker, 'exit');
    const pid = Number(await written(join(folder.path, 'self')));
    assert.ok(isAlive(pid));

    asker.kill('SIGKILL');
    await ended;

    for (const each of [pid, Number(readFileSync(join(folder.path, 'child'), 'utf8'))]) await gone(each);
  });
});

describe('a hook that leaves something behind', () => {
  it('does not keep its answer back by what still holds its output, and that is killed', async () => {
    using folder = aFolder();
    const { ask } = aHook(folder, 'sleep 1000 & echo $! >child; exit 75');

    const answer = await ask();

    assert.deepEqual(answer, { outcome: 'NotYet', found: 'exit code 75' });
    await gone(Number(readFileSync(join(folder.path, 'child'), 'utf8')));
  });
});
