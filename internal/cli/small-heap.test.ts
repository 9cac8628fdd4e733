import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { beginWithSmallHeap, type Host } from './small-heap.ts';

/** The arguments that a process of this command line begins anew with, if it does. */
function begunWith(argv: readonly string[], overrides: Partial<Host> = {}): readonly string[] | undefined {
  let begun: readonly string[] | undefined;
  beginWithSmallHeap({
    argv: [process.execPath, '/ichor.js', ...argv],
    env: {},
    execArgv: [],
    execPath: process.execPath,
    execve: (_file, args) => {
      begun = args;
    },
    ...overrides,
  });
  return begun;
}

describe('beginWithSmallHeap', () => {
  it('begins a rotation anew with a small young generation and the same arguments', () => {
    assert.deepEqual(begunWith(['cluster', 'rotate-ca', '--all'], { execArgv: ['--no-warnings'] }), [
      process.execPath,
      '--max-semi-space-size=4',
      '--initial-old-space-size=16',
      '--heap-growing-percent=25',
      '--no-warnings',
      '/ichor.js',
      'cluster',
      'rotate-ca',
      '--all',
    ]);
  });

  it('does so once', () => {
    assert.equal(begunWith(['cluster', 'rotate-ca'], { execArgv: ['--max-semi-space-size=4'] }), undefined);
  });

  it('leaves a size alone that somebody chose', () => {
    const env = { NODE_OPTIONS: '--max-semi-space-size=32' };

    assert.equal(begunWith(['cluster', 'rotate-ca'], { env }), undefined);
  });

  it('leaves short commands as they start', () => {
    assert.equal(begunWith(['cluster', 'status']), undefined);
    assert.equal(begunWith(['version']), undefined);
  });

  it('goes on where a process cannot be replaced, or its program is gone', () => {
    assert.doesNotThrow(() =>
      beginWithSmallHeap({ argv: ['', '', 'cluster', 'rotate-ca'], env: {}, execArgv: [], execPath: process.execPath }),
    );
    assert.equal(begunWith(['cluster', 'rotate-ca'], { execPath: '/gone/node' }), undefined);
  });
});
