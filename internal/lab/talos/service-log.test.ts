import { describe, expect, it } from 'vitest';
import type { ServiceFact } from '../../simulator/index.ts';
import { createServiceLog } from './service-log.ts';

const kubelet = (overrides: Partial<ServiceFact> = {}): ServiceFact => ({
  id: 'kubelet',
  instance: 1,
  isRunning: true,
  isHealthy: true,
  ...overrides,
});

describe('the services of a boot', () => {
  it('begin with their start, and are told nothing while nothing happens', () => {
    const log = createServiceLog();

    expect(log.observe([kubelet()], 1_000).map(({ state }) => state)).toEqual(['Preparing', 'Running', 'Running']);
    expect(log.observe([kubelet()], 2_000)).toEqual([]);
    expect(log.find('kubelet')).toMatchObject({ state: 'Running', healthy: true, healthChangedAt: 1_000 });
  });

  it('go through a stop and another start', () => {
    const log = createServiceLog();
    log.observe([kubelet()], 0);

    const stopped = log.observe([kubelet({ isRunning: false, isHealthy: undefined })], 10);
    const started = log.observe([kubelet({ instance: 2, isHealthy: false })], 20);
    const healthy = log.observe([kubelet({ instance: 2 })], 30);

    expect(stopped.map(({ state }) => state)).toEqual(['Stopping', 'Finished']);
    expect(started.map(({ state }) => state)).toEqual(['Preparing', 'Running']);
    expect(healthy.map(({ message }) => message)).toEqual(['Health check successful']);
  });

  it('tell a process that was replaced between two looks', () => {
    const log = createServiceLog();
    log.observe([kubelet()], 0);

    expect(log.observe([kubelet({ instance: 2 })], 10).map(({ state }) => state)).toEqual([
      'Stopping',
      'Finished',
      'Preparing',
      'Running',
      'Running',
    ]);
  });

  it('remember 64 events', () => {
    const log = createServiceLog();
    for (let instance = 1; instance < 50; instance += 1) log.observe([kubelet({ instance })], instance);

    expect(log.find('kubelet')?.events).toHaveLength(64);
  });
});
