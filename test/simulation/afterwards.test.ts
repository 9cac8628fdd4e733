import { describe, expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { driftOf } from '../../internal/cli/status/drift.ts';
import {
  BRISK,
  createFaultPlan,
  createOnlooker,
  type Happening,
  type RunResult,
  type Scenario,
} from '../../internal/simulator/index.ts';
import { simulations } from './one-world.ts';
import { plain } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

/** What `ichor cluster status` says of drift in the world that a run has left. */
async function driftIn({ world, store }: RunResult): Promise<string[]> {
  const draft = store.create('draft', { caRotation: { targets: [...CA_TARGETS] } });
  return driftOf(await createOnlooker(world, store, createFaultPlan(world, []))(draft));
}

const aRotation = (targets: Scenario['targets'], afterwards: readonly Happening[]): Scenario => ({
  ...plain('3+1', targets),
  timing: BRISK,
  settings: { aggregatorSettleMs: 20_000, authenticationWatchMs: 20_000 },
  afterwards,
});

describe('a machine that goes back to an old disk when the rotation is done', () => {
  const simulate = simulations();

  it.each([
    ['talos', 'cp2'],
    ['talos', 'w1'],
    ['kubernetes', 'cp3'],
    ['kubernetes', 'w1'],
    ['etcd', 'cp1'],
    ['kubernetes-aggregator', 'cp2'],
  ] as const)('%s: the next operation does not begin, and it and the status name %s', async (target, machine) => {
    const scenario = aRotation([target], [{ at: 1_000, what: 'restore', machine }]);

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.world.lines.at(-2)?.what).toBe(`next operation: refuses; went back: ${machine}`);
    expect((await driftIn(result)).join('\n')).toContain(machine);
  });

  it('so does one that was replaced by an empty machine with its first configuration', async () => {
    const scenario = aRotation(CA_TARGETS, [
      { at: 1_000, what: 'replace', machine: 'cp1', with: 'born', forMs: 5_000 },
    ]);

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect((await driftIn(result)).join('\n')).toContain('cp1');
  });

  it.each<[string, Happening]>([
    ['rebooted', { at: 1_000, what: 'reboot', machine: 'cp1' }],
    ['replaced with what it had at last', { at: 1_000, what: 'replace', machine: 'cp3', with: 'last', forMs: 5_000 }],
  ])("one that was only %s is in nobody's way", async (_what, happening) => {
    const scenario = aRotation(['etcd'], [happening]);

    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.world.lines.at(-2)?.what).toBe('next operation: begins; went back: nobody');
    expect(await driftIn(result)).toEqual([]);
  });
});
