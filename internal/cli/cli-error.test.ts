import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { BundleError } from '../../pkg/bundle/index.ts';
import { StoreError } from '../store/index.ts';
import { explain } from './cli-error.ts';

describe('explain', () => {
  it('says why the command ended, and not what failed on the way out', () => {
    const full = new StoreError('disk-full', 'operations/x.yaml', 'could not write it: the disk is full');
    const lock = new StoreError('disk-full', 'lock/owner', 'could not give the lock back: the disk is full');

    const { exit, message } = explain(new SuppressedError(lock, full));

    assert.deepEqual([exit, message], ['directory', 'operations/x.yaml: could not write it: the disk is full']);
  });

  it('takes what Ctrl-C broke off for no mistake', () => {
    const { exit, message } = explain(new DOMException('This operation was aborted', 'AbortError'));

    assert.deepEqual([exit, message], ['detached', 'interrupted; run the same command again']);
  });

  it.each([
    ['identity', 'directory', 'Name the identity file: --identity FILE.'],
    ['passphrase', 'directory', 'It is asked for on a terminal, or read from ICHOR_PASSPHRASE.'],
    ['recipient', 'usage', 'Check --recipient. Nothing was written.'],
    ['encrypted', 'directory', undefined],
  ] as const)('says what to give for a bundle that needs something: %s', (kind, exit, advice) => {
    const found = explain(new BundleError(kind, { path: 'secrets.yaml' }, 'needs something'));

    assert.deepEqual(found, { exit, message: 'secrets.yaml: needs something', advice });
  });
});
