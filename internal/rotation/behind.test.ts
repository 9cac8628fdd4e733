import { describe, expect, it } from 'vitest';
import { anObservation, type ObservationOptions } from '../../test/builders/rotation.ts';
import { isBehind, isLeftBehind } from './behind.ts';
import { isKnown } from './context.ts';
import { contextOf } from './decide.ts';

/** How the first machine stands to the stage. */
function first(options: ObservationOptions) {
  const context = contextOf(anObservation({ targets: ['talos', 'etcd'], ...options }));
  const machine = context.observation.machines.find(isKnown);
  if (machine === undefined) throw new Error('no machine answers');
  return { isBehind: isBehind(context, machine), isLeftBehind: isLeftBehind(context, machine) };
}

describe('a machine', () => {
  it.each([
    ['Issuing', 'Issuing', false, false],
    ['Issuing', 'Dropping', false, false],
    ['Issuing', 'Accepting', true, false],
    ['Issuing', 'Before', true, true],
    ['Dropping', 'Accepting', true, true],
  ] as const)('in %s that stands at %s is behind: %s, and left behind: %s', (stage, stands, behind, leftBehind) => {
    expect(first({ stage, stands })).toEqual({ isBehind: behind, isLeftBehind: leftBehind });
  });

  it('is as far behind as it is in any target', () => {
    const standing = { etcd: { stage: 'Before' as const } };

    expect(first({ stage: 'Issuing', standing })).toEqual({ isBehind: true, isLeftBehind: true });
  });

  it.each([{ stage: 'Foreign' as const, why: 'another CA' }, { stage: 'NotConcerned' as const }])(
    'is not behind in what is not ours to bring there: %j',
    (etcd) => {
      expect(first({ stage: 'Dropping', standing: { etcd } })).toEqual({ isBehind: false, isLeftBehind: false });
    },
  );
});
