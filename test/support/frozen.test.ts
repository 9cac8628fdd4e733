import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isFrozen } from './frozen.ts';

describe.runIf(process.platform === 'linux')('a process that is frozen', () => {
  let child: ChildProcess;

  afterEach(() => child.kill('SIGKILL'));

  it('is so once its last thread has stopped, and until it goes on', async () => {
    // Node has threads of its own, and two that never rest.
    const busy = "new (require('node:worker_threads').Worker)('for (;;);', { eval: true });";
    child = spawn(process.execPath, ['-e', `${busy}${busy}console.log('up');`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout ?? child, 'data');
    const pid = child.pid ?? 0;
    expect(isFrozen(pid)).toBe(false);

    child.kill('SIGSTOP');
    await vi.waitFor(() => expect(isFrozen(pid)).toBe(true), { timeout: 10_000, interval: 1 });
    child.kill('SIGCONT');
    await vi.waitFor(() => expect(isFrozen(pid)).toBe(false), { timeout: 10_000, interval: 1 });
    child.kill('SIGKILL');
    await once(child, 'exit');

    expect(isFrozen(pid)).toBe(false);
  });
});
