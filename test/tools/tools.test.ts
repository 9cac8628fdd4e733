import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ensureTools, missingTools, toolPath } from './tools.ts';

describe('the real parts', () => {
  let ready: string;

  beforeEach(() => {
    ready = mkdtempSync(join(tmpdir(), 'ichor-ready-'));
    vi.stubEnv('ICHOR_CACHE', join(ready, 'cache'));
    vi.stubEnv('ICHOR_TOOLS', '');
    vi.stubEnv('KUBEBUILDER_ASSETS', '');
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(ready, { recursive: true, force: true });
  });

  function readyMade(name: string): string {
    const path = join(ready, name);
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, 0o755);
    return path;
  }

  it('are missing from an empty cache, with what to do', () => {
    expect(missingTools(['etcd'])).toEqual([{ name: 'etcd', reason: 'not built yet; npm run tools builds it' }]);
    expect(() => toolPath('etcd')).toThrow('etcd is missing: not built yet; npm run tools builds it');
  });

  it.each(['ICHOR_TOOLS', 'KUBEBUILDER_ASSETS'])('are taken ready-made from %s', (variable) => {
    const etcd = readyMade('etcd');
    vi.stubEnv(variable, ready);

    expect(toolPath('etcd')).toBe(etcd);
    expect(missingTools(['etcd', 'etcdctl'])).toEqual([
      { name: 'etcdctl', reason: 'not built yet; npm run tools builds it' },
    ]);
  });

  it('that are ready-made are not built', async () => {
    readyMade('etcd');
    vi.stubEnv('ICHOR_TOOLS', ready);
    const said: string[] = [];

    await ensureTools({ required: true, only: ['etcd'], say: (line) => said.push(line) });

    expect(said).toEqual([]);
  });

  it('are built from their pins and said so', async () => {
    const said: string[] = [];

    await ensureTools({ required: true, only: ['rig-pause'], say: (line) => said.push(line) });

    expect(said[0]).toBe('tools 1/1: building rig-pause');
    expect(said.at(-1)).toMatch(/^tools: done in \d+ s, kept in .*cache$/);
    expect(toolPath('rig-pause')).toMatch(/cache\/tools\/rig-pause\/[0-9a-f]{16}\/rig-pause$/);
  });

  it('say so when Go is not there to build them', () => {
    const script = `import { missingTools } from '${join(import.meta.dirname, 'tools.ts')}';
      process.stdout.write(missingTools(['etcd'])[0].reason);`;
    const env = { ...process.env, PATH: '/nonexistent' };

    const reason = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', script], { env });

    expect(reason.toString()).toBe(
      'Go is not installed to build it (test/tools/etcd/go.mod says which version); or name a directory that has it in ICHOR_TOOLS',
    );
  });

  it('that cannot be built fail by name and reason when they are required, and are named when not', async () => {
    // A proxy that refuses and an empty module cache: nothing can be fetched.
    vi.stubEnv('GOPROXY', 'off');
    vi.stubEnv('GOMODCACHE', join(ready, 'modules'));
    const building = ensureTools({ required: true, only: ['bridge'], say: () => undefined });

    await expect(building).rejects.toThrow(/^real parts are missing:\n {2}bridge: building it failed: go build /);
    expect(missingTools(['bridge'])[0]?.reason).toMatch(/^building it failed: go build /);
    await ensureTools({ required: false, only: ['bridge'], say: () => undefined });
  });
});
