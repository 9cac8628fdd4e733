import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { openPinoLogger } from './pino-logger.ts';

describe('the log', () => {
  it('appends JSON lines to a file that its owner alone can read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ichor-log-'));
    const file = join(folder, 'ichor.log');
    try {
      for (const machine of ['cp1', 'cp2']) {
        const log = await openPinoLogger(file);
        log.info('act', { machine, stage: 'Accepting', effect: undefined });
        await log.close();
      }

      const lines = readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.deepEqual(
        lines.map(({ time: _time, ...line }) => line),
        [
          { level: 30, program: 'ichor', machine: 'cp1', stage: 'Accepting', event: 'act' },
          { level: 30, program: 'ichor', machine: 'cp2', stage: 'Accepting', event: 'act' },
        ],
      );
      assert.ok(lines.every(({ time }) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(time)));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is refused where the folder is not there', async () => {
    await assert.rejects(openPinoLogger('/nowhere/at/all.log'), { code: 'ENOENT' });
  });
});
