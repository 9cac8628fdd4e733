import { describe, expect, it } from 'vitest';
import { OUTCOMES, type RunResult, type Scenario } from '../../internal/simulator/index.ts';
import { simulations } from './one-world.ts';
import { plain, shortened, swarm } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

/** How many worlds with faults are gone through. */
const SWARM = 30;

const SPEC = { evacuationHook: '/opt/storage' };

/** The order of what was done around the reboots of a machine, as the audit trail has it. */
function around({ store }: RunResult, machine: string): string[] {
  const wanted = ['evacuate', 'cordon', 'drain', 'reboot', 'readmit', 'uncordon'];
  return store.audit
    .filter((each) => each.machine === machine && each.phase === 'before' && wanted.includes(each.effect))
    .map(({ effect }) => effect)
    .filter((effect, index, all) => effect !== all[index - 1]);
}

describe('an evacuation hook', () => {
  const simulate = simulations();

  it('is asked around each reboot, in the order of the contract', async () => {
    const scenario = { ...plain('3+1', ['etcd']), spec: SPEC };
    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    const once = ['evacuate', 'cordon', 'drain', 'reboot', 'readmit', 'uncordon'];
    for (const machine of ['cp1', 'cp2', 'cp3']) expect(around(result, machine)).toEqual([...once, ...once]);
  });

  it('is asked for nothing where none is set', async () => {
    const { calls } = await simulate(plain('1+0', ['etcd']));

    expect(calls.filter((call) => call.startsWith('hook '))).toEqual([]);
  });

  it('holds no storage back where our program dies at any of its calls, or the answer of any is lost', async () => {
    const base = shortened({ ...plain('1+0', ['etcd']), spec: SPEC });
    const { calls } = await simulate(base);
    const outcomes = ['refused', 'lost', 'crash-before', 'crash-after', 'taken-over'] as const;
    const failed: unknown[] = [];
    for (let at = 0; at < calls.length; at += 1) {
      if (!calls[at]?.startsWith('hook ')) continue;
      for (const outcome of outcomes) {
        const scenario: Scenario = { ...base, faults: [{ at, outcome }] };
        const failures = failuresOf(scenario, await simulate(scenario));
        if (failures.length > 0) failed.push({ call: calls[at], outcome, failures });
      }
    }

    expect(failed).toEqual([]);
  });

  it('gets it back where the rotation is abandoned at any moment', async () => {
    const base = shortened({ ...plain('3+0', ['etcd']), spec: SPEC });
    const { took } = await simulate(base);
    const failed: unknown[] = [];
    let readmitted = 0;
    for (let index = 0; index < 16; index += 1) {
      // Over the roll of Accepting and a little beyond it.
      const at = Math.floor((took * index) / 32);
      const scenario = { ...base, happenings: [{ at, what: 'delete' as const }] };
      const result = await simulate(scenario);
      const effects = result.store.audit.filter(({ phase }) => phase === 'before').map(({ effect }) => effect);
      if (effects.at(-1) === 'abandon' && effects.at(-2) === 'readmit') readmitted += 1;
      const failures = failuresOf(scenario, result);
      if (failures.length > 0) failed.push({ at, failures });
    }

    expect(failed).toEqual([]);
    expect(readmitted).toBeGreaterThan(2);
  });

  it('keeps its promises in worlds with faults, and people who disturb', async () => {
    const failed: unknown[] = [];
    let reboots = 0;
    for (let seed = 1; seed <= SWARM; seed += 1) {
      const drawn = swarm(seed);
      const targets = [...new Set([...drawn.targets, 'etcd' as const])];
      const faults = { faultRate: drawn.faultRate ?? 0.02, outcomes: drawn.outcomes ?? OUTCOMES.slice(1) };
      const scenario = shortened({ ...drawn, ...faults, targets, spec: { ...drawn.spec, ...SPEC } });
      const result = await simulate(scenario);
      reboots += result.calls.filter((call) => call.startsWith('Reboot')).length;
      const failures = failuresOf(scenario, result);
      if (failures.length > 0) failed.push({ seed, failures });
    }

    expect(failed).toEqual([]);
    expect(reboots).toBeGreaterThan(100);
  });
});
