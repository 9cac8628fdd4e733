import { describe, expect, it } from 'vitest';
import { type Fault, OUTCOMES, type RunResult, recoveryFaults, singleFaults } from '../../internal/simulator/index.ts';
import { simulations } from './one-world.ts';
import { plain, shortened, swarm } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

/** Every so many of the plans: the whole enumeration is `npm run enumerate`. */
function some<T>(plans: readonly T[], every: number): T[] {
  return plans.filter((_, index) => index % every === 0);
}

describe('every fault of every call', () => {
  const simulate = simulations();

  it.each([
    ['1+0', 'talos', 9],
    ['1+0', 'etcd', 23],
    ['3+1', 'talos', 29],
    ['3+0', 'etcd', 119],
  ] as const)('on %s of %s, one plan of %s, ends well', async (topology, target, every) => {
    const base = plain(topology, [target]);
    const { calls } = await simulate(base);
    const plans: Fault[][] = some([...singleFaults(calls), ...recoveryFaults(calls)], every);

    const failed: unknown[] = [];
    for (const faults of plans) {
      const scenario = { ...base, faults };
      const failures = failuresOf(scenario, await simulate(scenario));
      if (failures.length > 0) failed.push({ faults, failures });
    }

    expect(plans.length).toBeGreaterThan(10);
    expect(failed).toEqual([]);
  });

  it('has every outcome in a plan for every call that goes over a network', () => {
    const plans = singleFaults(['store status', 'Reboot cp1']);

    expect(plans.filter(([fault]) => fault?.at === 0).map(([fault]) => fault?.outcome)).toEqual([
      'refused',
      'lost',
      'crash-before',
      'crash-after',
      'pause',
      'taken-over',
      'conflict',
    ]);
    // Nobody else writes to a machine under the name of the operation: a conflict is the store's.
    expect(plans.filter(([fault]) => fault?.at === 1).map(([fault]) => fault?.outcome)).toEqual(
      OUTCOMES.filter((outcome) => outcome !== 'ok' && outcome !== 'conflict'),
    );
  });

  it('fails a plan whose fault never happens', async () => {
    const scenario = { ...plain('1+0', ['talos']), faults: [{ at: 9_999, outcome: 'lost' as const }] };

    expect(failuresOf(scenario, await simulate(scenario))).toEqual(['the planned fault call 9999 lost never happened']);
  });
});

describe('a program that dies and stays away for half an hour', () => {
  const simulate = simulations();

  it.each(['crash-before', 'crash-after'] as const)('goes on where it was: %s of a reboot', async (outcome) => {
    const base = plain('3+0', ['etcd']);
    const { calls } = await simulate(base);
    const scenario = { ...base, faults: [{ at: calls.indexOf('Reboot cp2'), outcome }], awayMs: 1_800_000 };

    expect(failuresOf(scenario, await simulate(scenario))).toEqual([]);
  });

  it('shuts no kubelet out, whichever machine it told last', async () => {
    const base = plain('3+2', ['talos', 'kubernetes']);
    const { calls } = await simulate(base);
    const applies = calls.flatMap((call, at) => (call.startsWith('ApplyConfiguration') ? [at] : []));

    const failed: unknown[] = [];
    for (const at of applies) {
      const scenario = { ...base, faults: [{ at, outcome: 'crash-after' as const }], awayMs: 1_800_000 };
      const failures = failuresOf(scenario, await simulate(scenario));
      if (failures.length > 0) failed.push({ at, failures });
    }

    expect(applies.length).toBeGreaterThan(15);
    expect(failed).toEqual([]);
  });
});

describe('a swarm of anything', () => {
  const simulate = simulations();

  it('ends well for the first seeds', async () => {
    const failed: unknown[] = [];
    for (let seed = 1; seed <= 8; seed += 1) {
      const scenario = swarm(seed);
      const failures = failuresOf(scenario, await simulate(scenario));
      if (failures.length > 0) failed.push({ seed, failures });
    }

    expect(failed).toEqual([]);
  });
});

describe('a wall clock that is put back while a rotation runs', () => {
  const simulate = simulations();

  it('has no workload restarted more often, although its new pods seem to be older than the new root CA', async () => {
    const scenario = shortened(swarm(4_214));
    expect(scenario.happenings).toEqual([{ at: 4_821, what: 'clock', byMs: -300_000 }]);
    const [before, result] = [await simulate({ ...scenario, happenings: [] }), await simulate(scenario)];

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(restartsOf(result)).toHaveLength(3);
    expect(restartsOf(result)).toEqual(restartsOf(before));
  });
});

function restartsOf({ calls }: RunResult): string[] {
  return calls.filter((call) => /^PATCH .*(daemonsets|deployments)/.test(call));
}
