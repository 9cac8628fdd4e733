import { describe, expect, it } from 'vitest';
import { BRISK, type Happening, type RunResult, type Scenario } from '../../internal/simulator/index.ts';
import { simulations } from './one-world.ts';
import { plain } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

const MINUTE_MS = 60_000;

/** A rotation of the etcd CA, with short ways; its reboots need an odd number of control planes. */
function aRotation(topology: string, happenings: readonly Happening[], seed = 1): Scenario {
  return { ...plain(topology, ['etcd'], seed), timing: BRISK, happenings };
}

/** Whether some look ended so, as the trace tells it. */
function sawBlocked({ world }: RunResult, reason: string): boolean {
  return world.lines.some(({ what }) => what.includes(`: blocked ${reason}`));
}

/** Reboots of ours while the number of control planes was even, by the trace. */
function rebootsBetween({ world }: RunResult, from: string, until: string): number {
  const index = (text: string): number => world.lines.findIndex(({ what }) => what.includes(text));
  return world.lines.slice(index(from), index(until)).filter(({ what }) => /^call \d+ Reboot /.test(what)).length;
}

describe('a control plane that leaves in mid-rotation', () => {
  const simulate = simulations();

  it('in order: no other one is rebooted while two are left, and it goes on when there are three again', async () => {
    const scenario = aRotation('3+0', [
      { at: 10_000, what: 'leave', machine: 'cp1', how: 'reset', forMs: 10_000 },
      { at: 5 * MINUTE_MS, what: 'join', name: 'joined-cp', role: 'controlplane' },
    ]);

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('done');
    expect(sawBlocked(result, 'ClusterTransitioning')).toBe(true);
    expect(rebootsBetween(result, 'cp1 is deleted', 'joined-cp votes in etcd')).toBe(0);
    expect(result.world.etcd.members.map(({ name }) => name)).toEqual(['cp2', 'cp3', 'joined-cp']);
  });

  it('and nobody takes its place: it says how many there are and how many there should be', async () => {
    const scenario = aRotation('3+0', [{ at: 10_000, what: 'leave', machine: 'cp2', how: 'reset', forMs: 10_000 }]);

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('blocked');
    expect(result.operation?.status).toMatchObject({
      reason: 'ClusterTransitioning',
      message: 'there are 2 control planes; expected an odd number',
    });
  });

  it('without a word: its member of etcd holds everything until somebody removes it', async () => {
    const scenario = aRotation('3+0', [
      { at: 1_000, what: 'leave', machine: 'cp3', how: 'lost', forMs: 5 * MINUTE_MS },
      { at: 7 * MINUTE_MS, what: 'join', name: 'joined-cp', role: 'controlplane' },
    ]);

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('done');
    expect(sawBlocked(result, 'MachineUnknown')).toBe(true);
    expect(rebootsBetween(result, 'cp3 down', 'joined-cp votes in etcd')).toBe(0);
  });

  it('and another one after it: five become four, which waits, and three, which goes on', async () => {
    const scenario = aRotation('5+0', [
      { at: 10_000, what: 'leave', machine: 'cp1', how: 'reset', forMs: 5_000 },
      { at: 5 * MINUTE_MS, what: 'leave', machine: 'cp4', how: 'lost', forMs: 5_000 },
    ]);

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('done');
    expect(sawBlocked(result, 'ClusterTransitioning')).toBe(true);
    expect(rebootsBetween(result, 'cp1 is deleted', 'cp4 is deleted')).toBe(0);
    expect(result.world.etcd.members.map(({ name }) => name)).toEqual(['cp2', 'cp3', 'cp5']);
  });

  it.each(['born', 'last'] as const)(
    'all of them, one by one replaced by empty ones with their %s configuration',
    async (which) => {
      const replace = (machine: string, minutes: number): Happening => ({
        at: minutes * MINUTE_MS,
        what: 'replace',
        machine,
        with: which,
        forMs: 10_000,
      });
      const scenario = {
        ...plain('3+1', ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator']),
        happenings: [replace('cp1', 0.5), replace('cp2', 3), replace('cp3', 6)],
      };

      const result = await simulate(scenario);

      expect(failuresOf(scenario, result)).toEqual([]);
      expect(result.end).toBe('done');
      expect(result.world.etcd.members.map(({ id }) => id.slice(-1))).toEqual(['3', '4', '5']);
    },
  );
});

describe('a control plane that was replaced while another one was rebooting for us', () => {
  const simulate = simulations();

  it('is told although nothing of it is well: the marker of the other one does not wait for it', async () => {
    // It boots with its first configuration when nobody trusts the old CA any more.
    const replaced: Happening = { at: 73_000, what: 'replace', machine: 'cp3', with: 'born', forMs: 6_000 };
    const scenario = { ...aRotation('3+1', [replaced], 205), settings: { aggregatorSettleMs: 20_000 } };

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('done');
  });

  it('is told although the other one was not heard: that reboot is taken back, and asked for anew', async () => {
    const free = aRotation('3+0', []);
    const { calls, world } = await simulate(free);
    const at = calls.lastIndexOf('Reboot cp2');
    const asked = world.lines.find(({ what }) => what === `call ${at} Reboot cp2`)?.at ?? 0;
    const scenario: Scenario = {
      ...free,
      faults: [{ at, outcome: 'dropped' }],
      happenings: [{ at: asked + 3_000, what: 'replace', machine: 'cp3', with: 'born', forMs: 5_000 }],
    };

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('done');
  });
});
