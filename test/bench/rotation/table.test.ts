import { describe, expect, it } from 'vitest';
import { type ClientFigures, type OurFigures, type RotationBenchmark, ratiosOf } from './result.ts';
import { tableOf } from './table.ts';

const NONE = { times: 0, totalMs: 0, longestMs: 0 };
const CLIENTS: ClientFigures = {
  requests: 51_234,
  failed: 0,
  retried: 40,
  longestStallMs: 812,
  lostWrites: 0,
  allDown: NONE,
};
const FLOOR = {
  boots: 6,
  bootMs: 60_000,
  apiServerRestarts: 9,
  apiServerRestartMs: 22_000,
  settlesMs: 240_000,
  totalMs: 798_000,
};
const OURS: OurFigures = {
  name: 'four CAs',
  wallMs: 877_800,
  healthyMs: 880_000,
  clients: CLIENTS,
  floor: FLOOR,
  ...ratiosOf(877_800, FLOOR),
  reboots: { cp1: 2, cp2: 2, cp3: 2, w1: 0 },
  skips: [{ machine: 'cp1', ports: { 2379: 'new', 2380: 'new' } }],
  cpuMs: 41_500,
  peakRssBytes: 131_000_000,
  stages: [
    { stage: 'Pending', ms: 2_000 },
    { stage: 'Accepting', ms: 302_000 },
  ],
};

function lines(result: Partial<RotationBenchmark> = {}): string[] {
  const talosctl = {
    name: 'talosctl rotate-ca',
    wallMs: 40_000,
    healthyMs: 130_000,
    clients: { ...CLIENTS, requests: 8_000, failed: 31, allDown: { times: 4, totalMs: 9_100, longestMs: 3_800 } },
  };
  return tableOf({
    controlPlanes: 3,
    workers: 1,
    measured: { boots: [60_000], apiServerRestarts: [22_000] },
    ours: [OURS],
    talosctl,
    ...result,
  }).split('\n');
}

describe('the table of the rotation benchmark', () => {
  it('has a column for each rotation and for what it is held against', () => {
    expect(lines()[0]).toBe('|  | four CAs | talosctl rotate-ca | must | aim |');
    expect(lines()).toContain('| wall to healthy again | 880.0 s | 130.0 s |  |  |');
    expect(lines()).toContain('| failed requests | 0 | 31 | 0 | 0 |');
    expect(lines()).toContain('| moments without any API server | 0 | 4 (9.1 s) | 0 |  |');
  });

  it('shows the floor with its parts, and the ratio with and without the settles', () => {
    expect(lines()).toContain(
      '| … made of | 6 boots × 60.0 s, 9 API-server restarts × 22.0 s, settles 240.0 s |  |  |  |',
    );
    expect(lines({ ours: [{ ...OURS, floor: { ...FLOOR, boots: 0 } }] })).toContain(
      '| … made of | 9 API-server restarts × 22.0 s, settles 240.0 s |  |  |  |',
    );
    expect(lines()).toContain('| wall ÷ floor | 1.10 |  | ≤ 1.5 | 1.10 |');
    expect(lines()).toContain('| … without the settles on both sides | 1.14 |  |  |  |');
  });

  it('counts reboots, and names what each skipped one served', () => {
    expect(lines()).toContain('| reboots | 6: cp1 2, cp2 2, cp3 2 |  | 6 for etcd on three control planes |  |');
    expect(lines()).toContain(
      '| reboots skipped after Issuing | cp1 (2379: new CA, 2380: new CA) |  | each with its probe |  |',
    );
  });

  it('says how long each stage took', () => {
    expect(lines()).toContain('| time in each stage | Pending 2.0 s, Accepting 300.0 s, the end 575.8 s |  |  |  |');
  });
});
