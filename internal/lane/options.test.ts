import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { aSnapshot } from '../../test/builders/snapshot.ts';
import { readAudit } from './audit.ts';
import { LANE_USAGE, readOptions } from './options.ts';
import { collectSnapshot, isWhole } from './snapshot.ts';
import { STEPS } from './steps/index.ts';

describe('readOptions', () => {
  it('refuses what it does not know, and says what there is', () => {
    assert.throws(() => readOptions([]), { message: '--dir names no cluster directory' });
    assert.throws(() => readOptions(['--dir', '.', '--only', 'etcd,nothing']), {
      message: `there is no step "nothing"; there are: ${STEPS.map((step) => step.id).join(', ')}`,
    });
    assert.throws(() => readOptions(['--dir', '.', '--power-off', 'x']), {
      message: '--power-off and --power-on are given together or not at all',
    });
    assert.throws(() => readOptions(['--dri', '.']), /Unknown option '--dri'/);
  });

  it('has every step in its help', () => {
    assert.equal(readOptions(['--help']), 'help');
    for (const { id } of STEPS) assert.match(LANE_USAGE, new RegExp(`^ {2}${id} `, 'm'));
  });
});

describe('STEPS', () => {
  it('stand for every step of both lists', () => {
    const stands = STEPS.flatMap((step) => step.stands);

    for (const [list, length] of [
      ['first', 7],
      ['second', 4],
    ] as const) {
      for (let number = 1; number <= length; number += 1) {
        assert.ok(stands.includes(`${list} list, ${number}`), `${list} list, ${number}`);
      }
    }
  });

  it('need only steps that come before them', () => {
    STEPS.forEach(({ id, needs = [] }, index) => {
      const before = STEPS.slice(0, index).map((step) => step.id);
      for (const need of needs) assert.ok(before.includes(need), `${id} needs ${need}`);
    });
  });
});

describe('collectSnapshot', () => {
  it('takes a file that ends in its own sum', async () => {
    const taken = await collectSnapshot(aSnapshot('rows'));

    assert.ok(taken.ok);
    assert.equal(taken.sha256, createHash('sha256').update('rows').digest('hex'));
  });

  it('refuses one that was cut short', async () => {
    async function* short() {
      yield Buffer.from('rows');
    }

    assert.deepEqual(await collectSnapshot(short()), {
      ok: false,
      problem: 'its 4 bytes do not end in their SHA-256',
    });
    assert.equal(isWhole(Buffer.alloc(64)), false);
  });
});

describe('readAudit', () => {
  it('is empty without a trail, and leaves out a line that is still being written', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ichor-lane-'));
    try {
      assert.deepEqual(await readAudit(folder), []);
      await writeFile(join(folder, 'audit.jsonl'), '{"effect":"reboot","phase":"before"}\n{"effect":"reb');

      assert.deepEqual(await readAudit(folder), [{ effect: 'reboot', phase: 'before' }]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
