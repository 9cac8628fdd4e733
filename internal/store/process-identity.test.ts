import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createProcesses } from './process-identity.ts';

describe('the processes of this host', () => {
  const processes = createProcesses();
  const self = processes.self();

  it.runIf(process.platform === 'linux')('know this one as alive', () => {
    expect(processes.liveness(self)).toBe('alive');
  });

  it('know one that has ended as dead', async () => {
    const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    const pid = child.pid ?? 0;
    await once(child, 'close');

    expect(processes.liveness({ ...self, pid })).toBe('dead');
  });

  it.runIf(process.platform === 'linux')(
    'know one of an earlier boot, or whose number was given to another one, as dead',
    () => {
      expect(self.bootId).toMatch(/^[0-9a-f-]{36}$/);
      expect(processes.liveness({ ...self, bootId: 'another boot' })).toBe('dead');
      expect(processes.liveness({ ...self, startedAt: '1' })).toBe('dead');
    },
  );

  it('say nothing of another host, another container, or a boot that is not known', () => {
    expect(processes.liveness({ ...self, host: 'elsewhere' })).toBe('unknown');
    expect(processes.liveness({ ...self, pidNamespace: 'pid:[1]' })).toBe('unknown');
    expect(processes.liveness({ ...self, bootId: '' })).toBe('unknown');
    expect(processes.liveness({ ...self, startedAt: '' })).toBe('unknown');
  });

  it('where the system has no /proc, know that one has ended, and of a number that is taken not by whom', async () => {
    const elsewhere = createProcesses('/no such folder');
    const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    const pid = child.pid ?? 0;
    await once(child, 'close');

    expect(elsewhere.self()).toEqual({ ...self, bootId: '', pidNamespace: '', startedAt: '' });
    expect(elsewhere.liveness(elsewhere.self())).toBe('unknown');
    expect(elsewhere.liveness({ ...elsewhere.self(), pid })).toBe('dead');
  });
});
