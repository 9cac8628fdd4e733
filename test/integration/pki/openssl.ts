import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { output, type RunResult, run } from '../../support/run.ts';

/** A suite judged by the system's openssl; without it, skipped by name, and a failure in continuous integration. */
export function describeWithOpenssl(name: string, suite: () => void): void {
  const found = spawnSync('openssl', ['version']).status === 0;
  if (found) {
    describe(name, suite);
  } else if (process.env.CI === 'true') {
    describe(name, () => {
      it('has what it needs', () => {
        throw new Error('openssl is not installed; install the package openssl');
      });
    });
  } else {
    describe.skipIf(true)(`${name} [skipped: openssl is not installed; install the package openssl]`, suite);
  }
}

/** What openssl prints; it must succeed. */
export function openssl(...args: string[]): Promise<string> {
  return output('openssl', args, { timeoutMs: 60_000 });
}

/** How openssl ends. */
export function tryOpenssl(...args: string[]): Promise<RunResult> {
  return run('openssl', args, { timeoutMs: 60_000 });
}

/** Files in a folder of their own, for programs that read files only; keys are readable by their owner alone. */
export async function withFiles<T>(
  files: Readonly<Record<string, string | Uint8Array>>,
  use: (path: (name: string) => string) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'ichor-pki-'));
  try {
    const path = (name: string) => join(directory, name);
    for (const [name, content] of Object.entries(files)) await writeFile(path(name), content, { mode: 0o600 });
    return await use(path);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
