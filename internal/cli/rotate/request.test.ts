import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { readRequest, specOf } from './request.ts';

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
    [{ ca: ' , ' }, '--ca names no certificate authority'],
    [{ all: true, ca: 'talos' }, '--all and --ca exclude each other'],
  ])('refuses %j', (options, message) => {
    assert.throws(() => readRequest(options), { exit: 'usage', message });
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
});
