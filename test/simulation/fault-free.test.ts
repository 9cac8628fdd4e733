import { describe, expect, it } from 'vitest';
import { simulations } from './one-world.ts';
import { plain, TARGET_SETS, TOPOLOGIES } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

describe('a rotation without any fault', () => {
  const simulate = simulations();

  for (const topology of TOPOLOGIES) {
    for (const targets of topology === '3+1' || topology === '1+0' ? TARGET_SETS : TARGET_SETS.slice(-1)) {
      it(`of ${targets.join(', ')} on ${topology} is done, and breaks no property on the way`, async () => {
        const scenario = plain(topology, targets);

        const result = await simulate(scenario);

        expect(failuresOf(scenario, result)).toEqual([]);
        expect(result.end).toBe('done');
      });
    }
  }

  it.each(['1.9.6', '1.13.2'])('works on the old shape of Talos %s', async (talosVersion) => {
    const scenario = { ...plain('3+1', ['talos', 'kubernetes', 'etcd']), talosVersion, shape: 'legacy' as const };

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
  });

  it('does not wait for workers whose kubelets no API server takes any more', async () => {
    const scenario = plain('3+12', ['kubernetes'], 3);

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
  });

  it('is the same twice, to the last line', async () => {
    const scenario = plain('3+1', ['talos', 'etcd'], 7);

    const first = await simulate(scenario);
    const second = await simulate(scenario);

    expect(second.hash).toBe(first.hash);
    expect(second.world.lines).toEqual(first.world.lines);
  });

  it('is another story with another seed', async () => {
    const first = await simulate(plain('1+0', ['etcd'], 7));
    const second = await simulate(plain('1+0', ['etcd'], 8));

    expect(second.hash).not.toBe(first.hash);
  });

  it('reboots each of three control planes twice for the etcd CA, because the middle roll is proved needless', async () => {
    const { calls } = await simulate(plain('3+0', ['etcd']));

    expect(calls.filter((call) => call.startsWith('Reboot')).sort()).toEqual([
      'Reboot cp1',
      'Reboot cp1',
      'Reboot cp2',
      'Reboot cp2',
      'Reboot cp3',
      'Reboot cp3',
    ]);
  });
});
