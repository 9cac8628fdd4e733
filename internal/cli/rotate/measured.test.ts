import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../store/index.ts';
import { measuredDurations } from './measured.ts';

/** One line of the trail, `seconds` into a day. */
function line(seconds: number, effect: string, machine: string, overrides: Partial<AuditEntry> = {}): AuditEntry {
  const time = new Date(Date.parse('2026-11-30T00:00:00Z') + seconds * 1_000).toISOString();
  return {
    time,
    operation: 'rotate-1',
    stage: 'Accepting',
    effect,
    machine,
    phase: 'before',
    message: '',
    ...overrides,
  };
}

/** A reboot from its request until pods are let back. */
function reboot(from: number, to: number, machine = 'cp1'): AuditEntry[] {
  return [
    line(from, 'reboot', machine),
    line(from + 1, 'reboot', machine, { phase: 'after', outcome: 'ok' }),
    line(to - 1, 'uncordon', machine),
    line(to, 'uncordon', machine, { phase: 'after', outcome: 'ok' }),
  ];
}

describe('measuredDurations', () => {
  it('is the median of the reboots of this cluster, from the request until pods are let back', () => {
    const trail = [...reboot(0, 40), ...reboot(100, 190, 'cp2'), ...reboot(200, 270, 'cp3')];

    expect(measuredDurations(trail)).toEqual({ rebootMs: 70_000 });
  });

  it('counts a reboot that was asked for again from the first request', () => {
    expect(measuredDurations([line(0, 'reboot', 'cp1'), ...reboot(300, 350)])).toEqual({ rebootMs: 350_000 });
  });

  it('counts until the cluster was whole, and not what the evacuation hook took after that', () => {
    const [asked, sent, ...back] = reboot(0, 900);
    const readmit = [line(40, 'readmit', 'cp1'), line(50, 'readmit', 'cp1')];

    expect(measuredDurations([asked, sent, ...readmit, ...back].filter((each) => each !== undefined))).toEqual({
      rebootMs: 40_000,
    });
  });

  it('counts neither what waited for somebody, nor what did not end, nor an uncordon of another kind', () => {
    expect(
      measuredDurations([
        ...reboot(0, 1_300),
        line(2_000, 'reboot', 'cp2'),
        line(2_010, 'uncordon', 'cp2', { phase: 'after', outcome: 'refused' }),
        line(2_020, 'uncordon', 'cp3', { phase: 'after', outcome: 'ok' }),
      ]),
    ).toEqual({});
  });
});
