import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { aMachine } from '../../../test/builders/machine.ts';
import { driftLines, driftOf } from './drift.ts';

const cp1 = aMachine({ name: 'cp1' });

describe('driftOf', () => {
  it('is empty where every configuration holds what the bundle holds', () => {
    assert.deepEqual(driftOf({ machines: [cp1, aMachine({ name: 'w1', role: 'worker' })] }), []);
  });

  it('names a machine that came back with the etcd CA of before the last rotation', () => {
    const why = 'the configuration holds c01c01c01c01; the bundle holds cfcfcfcfcfcf';
    const cp2 = aMachine({ name: 'cp2', standing: { etcd: { stage: 'Foreign', why } } });

    assert.deepEqual(driftOf({ machines: [cp1, cp2] }), [`cp2, etcd: ${why}`]);
  });

  it('names a machine that shows a certificate of the Talos CA of before', () => {
    const w1 = aMachine({ name: 'w1', role: 'worker', unknown: 'untrusted' });

    assert.deepEqual(driftOf({ machines: [cp1, w1] }), ['w1: the certificate it shows is signed by no known CA']);
  });

  it('claims nothing about a machine that does not answer', () => {
    assert.deepEqual(
      driftOf({ machines: [cp1, aMachine({ name: 'w1', role: 'worker', unknown: 'unreachable' })] }),
      [],
    );
  });
});

describe('driftLines', () => {
  const known = { name: 'cp1', isKnown: true };

  it.each([
    ['nothing found on machines that all answered', [], [known], ['no drift']],
    [
      'nothing found, and one that did not answer',
      [],
      [known, { name: 'w1', isKnown: false }],
      ['drift: unknown of w1'],
    ],
    ['no machine at all', [], [], ['drift: unknown']],
    ['something found', ['w1: x'], [known, { name: 'w1', isKnown: false }], ['drift:', '  w1: x']],
  ] as const)('%s', (_, drift, machines, lines) => {
    assert.deepEqual(driftLines(drift, machines), lines);
  });
});
