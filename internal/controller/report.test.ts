import { describe, expect, it } from 'vitest';
import { type OperationStatus, pendingStatus } from '../../api/v1alpha1/index.ts';
import { isNews } from './report.ts';

describe('what is worth a write of the status', () => {
  const status: OperationStatus = {
    ...pendingStatus(),
    message: 'waiting for 12 s',
    conditions: [
      {
        type: 'CARotation',
        status: 'Unknown',
        reason: 'Starting',
        message: 'for 12 s',
        lastTransitionTime: '2026-11-05T12:00:00Z',
      },
    ],
  };
  const [condition] = status.conditions as [OperationStatus['conditions'][number]];
  const reread = (value: OperationStatus): OperationStatus => JSON.parse(JSON.stringify(value));

  it('is not what was read again and says the same', () => {
    expect(isNews(reread(status), status)).toBe(false);
  });

  it('is not a countdown alone', () => {
    const later = { ...status, message: 'waiting for 9 s', conditions: [{ ...condition, message: 'for 9 s' }] };

    expect(isNews(status, later)).toBe(false);
  });

  it('is not a field that is named and holds nothing, on either side', () => {
    const named = { ...status, completedAt: undefined } as unknown as OperationStatus;

    expect(isNews(status, named)).toBe(false);
    expect(isNews(named, status)).toBe(false);
  });

  it.each<[string, Partial<OperationStatus>]>([
    ['another reason', { reason: 'PausedByUser' }],
    ['another message', { message: 'waiting for cp1' }],
    ['one condition less', { conditions: [] }],
    ['one condition more', { conditions: [condition, { ...condition, type: 'DeletionHeld' }] }],
    ['another condition', { conditions: [{ ...condition, status: 'True' }] }],
    ['a new field', { completedAt: '2026-11-05T12:00:00Z' }],
    ['another field below', { caRotation: { ...status.caRotation, etcdDraining: 'cp1' } }],
  ])('is %s, in both directions', (_what, change) => {
    expect(isNews(status, { ...status, ...change })).toBe(true);
    expect(isNews({ ...status, ...change }, status)).toBe(true);
  });
});
