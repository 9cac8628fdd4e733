import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { EXIT_CODES } from './exit-codes.ts';

describe('exit codes', () => {
  it('never change their meaning', () => {
    const codes = Object.fromEntries(Object.entries(EXIT_CODES).map(([name, { code }]) => [name, code]));

    assert.deepEqual(codes, {
      ok: 0,
      internal: 1,
      usage: 2,
      declined: 3,
      refused: 4,
      handoff: 5,
      directory: 6,
      unreachable: 7,
      locked: 8,
      'not-found': 9,
      abandoned: 10,
      detached: 130,
    });
  });

  it('are all in the reference', () => {
    const reference = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8');

    const missing = Object.values(EXIT_CODES).filter(
      ({ code, meaning }) => !reference.includes(`| ${code} | ${meaning} |`),
    );

    assert.deepEqual(missing, []);
  });
});
