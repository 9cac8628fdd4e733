import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { readRequest, settingsOf, specOf } from './request.ts';

describe('readRequest', () => {
  it('replaces the Talos and the Kubernetes CA when nothing is chosen', () => {
    const request = readRequest({ previousBundle: 'archive' });

    assert.deepEqual(request, {
      targets: ['talos', 'kubernetes'],
      isChosen: false,
      yes: false,
      follow: false,
      dryRun: false,
      restartWorkloads: 'Never',
      previousBundle: 'Archive',
    });
  });

  it('takes the named CAs, each once, in the order of a cluster', () => {
    const { targets, isChosen } = readRequest({ ca: 'etcd, talos,etcd' });

    assert.deepEqual([targets, isChosen], [['talos', 'etcd'], true]);
  });

  it('takes all four with --all', () => {
    const { targets } = readRequest({ all: true });

    assert.deepEqual(targets, ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator']);
  });

  it.each([
    [
      { ca: 'talos,front-proxy' },
      '--ca: there is no certificate authority "front-proxy"; expected some of talos, kubernetes, etcd, kubernetes-aggregator',
    ],
    [{ ca: ' , ' }, '--ca names nothing'],
    [{ all: true, ca: 'talos' }, '--all and --ca exclude each other'],
  ])('refuses %j', (options, message) => {
    assert.throws(() => readRequest(options), { exit: 'usage', message });
  });
});

describe('settingsOf', () => {
  it('shortens both settles, and nothing else', () => {
    const { aggregatorSettleMs, authenticationWatchMs, ...others } = settingsOf(readRequest({ settle: '2s' }));
    const { aggregatorSettleMs: _one, authenticationWatchMs: _two, ...usual } = settingsOf(readRequest({}));

    assert.deepEqual([aggregatorSettleMs, authenticationWatchMs], [2_000, 2_000]);
    assert.deepEqual(others, usual);
  });

  it('keeps the two minutes of the design without the option', () => {
    const { aggregatorSettleMs, authenticationWatchMs } = settingsOf(readRequest({}));

    assert.deepEqual([aggregatorSettleMs, authenticationWatchMs], [120_000, 120_000]);
  });

  it.each(['0s', '3m', '2', '-1s', '1.5s'])('refuses %s', (settle) => {
    assert.throws(() => readRequest({ settle }), {
      exit: 'usage',
      message: `--settle: expected 1s to 120s; "${settle}" was given`,
    });
  });
});

describe('specOf', () => {
  it('writes what was asked for into the operation', () => {
    const spec = specOf(readRequest({ ca: 'etcd', restartWorkloads: true, previousBundle: 'remove' }));

    assert.deepEqual(spec, {
      type: 'CARotation',
      caRotation: { targets: ['etcd'] },
      paused: false,
      restartWorkloads: 'Rolling',
      previousBundle: 'Remove',
    });
  });

  it.each([
    ['report', 'Report'],
    ['hold', 'Hold'],
    [undefined, undefined],
  ])('writes what becomes of unreachable endpoints: %s', (unreachableEndpoints, expected) => {
    const spec = specOf(readRequest({ ca: 'etcd', unreachableEndpoints }));

    assert.equal(spec.unreachableEndpoints, expected);
  });
});
