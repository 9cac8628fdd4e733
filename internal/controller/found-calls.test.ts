import { describe, expect, it } from 'vitest';
import type { CaRotationStatus, TalosOperation } from '../../api/v1alpha1/index.ts';
import { anOperation } from '../../test/builders/rotation.ts';
import { createFoundCalls } from './found-calls.ts';

const NOON = Date.UTC(2026, 10, 5, 12);

/** An operation with calls in flight to these machines, whose caller gave up so many seconds before noon. */
function operationWith(machines: readonly string[], seconds: number): TalosOperation {
  const deadline = new Date(NOON - seconds * 1_000).toISOString();
  const inFlight = machines.map((machine) => ({ machine, call: 'reboot', bootID: 'boot-1', deadline }) as const);
  return anOperation({ stage: 'Issuing', status: { inFlight } });
}

const deadlines = ({ status }: { readonly status: { readonly caRotation: Pick<CaRotationStatus, 'inFlight'> } }) =>
  status.caRotation.inFlight.map((call) => [call.machine, call.deadline]);

describe('a call in flight', () => {
  it.each([
    ['an hour ahead of that of its maker', 3_600],
    ['behind it', -3_600],
  ])('that this process found has its full time from the first look, with a clock %s', (_what, seconds) => {
    const calls = createFoundCalls();
    const operation = operationWith(['cp1'], seconds);

    expect(deadlines(calls.waitedFor(operation, NOON))).toEqual([['cp1', '2026-11-05T12:00:30.000Z']]);
    expect(deadlines(calls.waitedFor(operation, NOON + 20_000))).toEqual([['cp1', '2026-11-05T12:00:30.000Z']]);
  });

  it('that this process made itself keeps its deadline', () => {
    const calls = createFoundCalls();
    calls.waitedFor(operationWith([], 0), NOON - 60_000);

    expect(deadlines(calls.waitedFor(operationWith(['cp1'], 15), NOON))).toEqual([['cp1', '2026-11-05T11:59:45.000Z']]);
  });

  it('keeps the deadline that was stored once it had been found', () => {
    const calls = createFoundCalls();
    const seen = calls.waitedFor(operationWith(['cp1', 'cp2'], 3_600), NOON);
    const stored = anOperation({ stage: 'Issuing', status: { inFlight: seen.status.caRotation.inFlight.slice(1) } });

    expect(deadlines(calls.waitedFor(stored, NOON + 35_000))).toEqual([['cp2', '2026-11-05T12:00:30.000Z']]);
  });
});
