import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { readRequest, settingsOf, specOf } from './request.ts';

describe('readRequest', () => {
  it('replaces the Talos and the Kubernetes CA when nothing is chosen', () => {
    const request = readRequest({ previousBundle: 'archive' }, '/home/me');

    assert.deepEqual(request, {
      targets: ['talos', 'kubernetes'],
      isChosen: false,
      yes: false,
      follow: false,
      dryRun: false,
      restartWorkloads: 'Never',
      previousBundle: 'Archive',
      given: { previousBundle: 'Archive' },
    });
  });

  it('tells what was given from what is meant without it', () => {
    const { given, restartWorkloads, previousBundle } = readRequest({}, '/home/me');
    const all = {
      restartWorkloads: true,
      previousBundle: 'remove',
      unreachableEndpoints: 'report',
      evacuationHook: '/h',
    };

    assert.deepEqual([given, restartWorkloads, previousBundle], [{}, 'Never', 'Archive']);
    assert.deepEqual(readRequest(all, '/home/me').given, {
      restartWorkloads: 'Rolling',
      previousBundle: 'Remove',
      unreachableEndpoints: 'Report',
      evacuationHook: '/h',
    });
  });

  it('takes the named CAs, each once, in the order of a cluster', () => {
    const { targets, isChosen } = readRequest({ ca: 'etcd, talos,etcd' }, '/home/me');

    assert.deepEqual([targets, isChosen], [['talos', 'etcd'], true]);
  });

  it('takes all four with --all', () => {
    const { targets } = readRequest({ all: true }, '/home/me');

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
    assert.throws(() => readRequest(options, '/home/me'), { exit: 'usage', message });
  });
});

describe('settingsOf', () => {
  it('shortens both settles, and nothing else', () => {
    const { aggregatorSettleMs, authenticationWatchMs, ...others } = settingsOf(
      readRequest({ settle: '2s' }, '/home/me'),
    );
    const { aggregatorSettleMs: _one, authenticationWatchMs: _two, ...usual } = settingsOf(readRequest({}, '/home/me'));

    assert.deepEqual([aggregatorSettleMs, authenticationWatchMs], [2_000, 2_000]);
    assert.deepEqual(others, usual);
  });

  it('keeps the two minutes of the design without the option', () => {
    const { aggregatorSettleMs, authenticationWatchMs } = settingsOf(readRequest({}, '/home/me'));

    assert.deepEqual([aggregatorSettleMs, authenticationWatchMs], [120_000, 120_000]);
  });

  it.each(['0s', '3m', '2', '-1s', '1.5s'])('refuses %s', (settle) => {
    assert.throws(() => readRequest({ settle }, '/home/me'), {
      exit: 'usage',
      message: `--settle: expected 1s to 120s; "${settle}" was given`,
    });
  });
});

describe('specOf', () => {
  it('writes what was asked for into the operation', () => {
    const spec = specOf(readRequest({ ca: 'etcd', restartWorkloads: true, previousBundle: 'remove' }, '/home/me'));

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
    const spec = specOf(readRequest({ ca: 'etcd', unreachableEndpoints }, '/home/me'));

    assert.equal(spec.unreachableEndpoints, expected);
  });

  it.each([
    ['hooks/storage', '/home/me/hooks/storage'],
    ['../storage', '/home/storage'],
    ['/opt/storage', '/opt/storage'],
    [undefined, undefined],
  ])('keeps where the evacuation hook is, whoever goes on from wherever: %s', (evacuationHook, expected) => {
    const spec = specOf(readRequest({ ca: 'etcd', evacuationHook }, '/home/me'));

    assert.equal(spec.evacuationHook, expected);
  });

  it('refuses an evacuation hook that could not be shown', () => {
    assert.throws(() => readRequest({ evacuationHook: 'a\u001b[2J' }, '/home/me'), {
      exit: 'usage',
      message: '--evacuation-hook: the path holds control characters',
    });
  });
});
