import { describe, expect, it } from 'vitest';
import { API_VERSION, pendingStatus, type TalosOperation } from '../../api/v1alpha1/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import { createOperationTime } from './operation-time.ts';

const NOON = Date.UTC(2026, 10, 5, 12);

/** A clock whose two readings are set by hand. */
function aClock(): Clock & { wall: number; passed: number } {
  const clock = {
    wall: NOON,
    passed: 500,
    now: () => clock.wall,
    monotonic: () => clock.passed,
    sleep: () => Promise.resolve(),
  };
  return clock;
}

function anOperation(status: Partial<TalosOperation['status']> = {}): TalosOperation {
  return {
    apiVersion: API_VERSION,
    kind: 'TalosOperation',
    metadata: {
      name: 'rotate',
      uid: 'uid-1',
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: '2026-11-05T12:00:00.000Z',
      finalizers: [],
      annotations: {},
    },
    spec: { type: 'CARotation', paused: false, restartWorkloads: 'Never', previousBundle: 'Remove' },
    status: { ...pendingStatus(), ...status },
  };
}

describe('the time of an operation', () => {
  it('says when it was looked at first', () => {
    const clock = aClock();
    const time = createOperationTime(clock);
    time.now(anOperation());
    clock.passed += 5_000;
    clock.wall += 3_600_000;

    expect(time.since(anOperation())).toBe(NOON);
    expect(time.now(anOperation())).toBe(NOON + 5_000);
  });

  it('begins where the wall clock stands', () => {
    expect(createOperationTime(aClock()).now(anOperation())).toBe(NOON);
  });

  it.each([
    ['back', -3_600_000],
    ['on', 3_600_000],
  ])('passes as before when the wall clock is put %s by an hour', (_name, jump) => {
    const clock = aClock();
    const time = createOperationTime(clock);
    time.now(anOperation());

    clock.wall += jump + 2_000;
    clock.passed += 2_000;

    expect(time.now(anOperation())).toBe(NOON + 2_000);
  });

  it('never begins before what another process wrote, or its settles would last until then', () => {
    const condition = {
      type: 'AggregatorAccepted' as const,
      status: 'True' as const,
      reason: 'SettlingAggregator' as const,
      message: '',
      lastTransitionTime: '2026-11-05T13:00:00.000Z',
    };

    const time = createOperationTime(aClock());

    expect(time.now(anOperation({ conditions: [condition] }))).toBe(Date.UTC(2026, 10, 5, 13));
  });

  it('begins after what an evacuation hook answered, by a clock that was put back since', () => {
    const status = pendingStatus();
    const answer = { outcome: 'Done' as const, found: 'exit code 0', at: '2026-11-05T13:00:00.000Z' };
    const evacuation = { machine: 'cp1', call: 'evacuate' as const, since: '2026-11-05T12:59:00.000Z', answer };

    const time = createOperationTime(aClock());

    expect(time.now(anOperation({ caRotation: { ...status.caRotation, evacuation } }))).toBe(Date.UTC(2026, 10, 5, 13));
  });

  it('takes a deadline that lies ahead for no time that has been', () => {
    const status = pendingStatus();
    const inFlight = [{ machine: 'cp1', call: 'apply' as const, bootID: 'b', deadline: '2026-11-05T12:00:30.000Z' }];

    const time = createOperationTime(aClock());

    expect(time.now(anOperation({ caRotation: { ...status.caRotation, inFlight } }))).toBe(NOON);
  });
});
