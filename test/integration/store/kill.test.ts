import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedStore } from '../../../internal/store/index.ts';
import { bundleFixture } from '../../builders/bundle.ts';

const VICTIM = fileURLToPath(new URL('./victim.ts', import.meta.url));

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ichor-kill-'));
  writeFileSync(join(directory, 'secrets.yaml'), bundleFixture('secrets-v1.14.txt'), { mode: 0o600 });
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Lets a process write `rounds` rounds, and kills it `delayMs` later: somewhere in the next one. */
async function killAfter(
  rounds: number,
  delayMs: number,
): Promise<{ pid: number; takenFrom: string; lastRound: number }> {
  const child = spawn(process.execPath, [VICTIM, directory], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const closed = once(child, 'close');
  for await (const chunk of child.stdout) {
    output += chunk;
    if (output.split('round ').length > rounds) break;
  }
  await sleep(delayMs);
  child.kill('SIGKILL');
  await closed;
  if (!output.includes('round ')) throw new Error(errors);
  return {
    pid: child.pid ?? 0,
    takenFrom: /taken from (.*)/.exec(output)?.[1] ?? '',
    lastRound: Number(output.trim().split('round ').at(-1)),
  };
}

describe('a process that writes and is killed with SIGKILL', () => {
  it('again and again has lost nothing that it was told is written, and the next one goes on', async () => {
    let before = 'nobody';
    for (const [index, delayMs] of [0, 1, 3, 7, 12, 20].entries()) {
      const { pid, takenFrom, lastRound } = await killAfter(1 + (index % 3), delayMs);
      expect(takenFrom).toBe(before);
      before = String(pid);

      const store = await openEmbeddedStore({ directory });
      const operation = await store.readOperation('rotate-1');
      const { entries, torn } = await store.readAudit();
      const { record } = await store.readState();
      const stored = Number(operation?.metadata.annotations.round);
      expect(stored).toBeGreaterThanOrEqual(lastRound);
      expect(entries.length).toBeGreaterThanOrEqual(stored);
      expect(torn).toBeLessThanOrEqual(index + 1);
      if (record !== undefined) expect(record.operation).toBe('uid-1');
      expect(await store.readTalosconfig()).toMatch(/^context: x{20000}\d+\n$/);
    }

    const last = await openEmbeddedStore({ directory });
    expect((await last.acquireLock({ purpose: 'the end' })).takenFrom?.pid).toBe(Number(before));
    await last.releaseLock();
    expect(readdirSync(directory, { recursive: true }).filter((name) => String(name).endsWith('.tmp'))).toEqual([]);
  }, 180_000);
});
