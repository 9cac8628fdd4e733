import { describe, expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { simulations } from './one-world.ts';
import { plain } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

describe('an operation that is removed by force, with its record left, and begun anew', () => {
  const simulate = simulations();
  const base = plain('3+1', CA_TARGETS);

  it('goes on where the machines stand, with the same keys, whenever that was', async () => {
    const { took } = await simulate(base);
    const moments = Array.from({ length: 16 }, (_, index) => Math.floor((took * (index + 1)) / 17));

    const failed: unknown[] = [];
    const resumedIn = new Set<string | undefined>();
    for (const at of moments) {
      const scenario = { ...base, happenings: [{ at, what: 'begin-anew' as const }] };
      const result = await simulate(scenario);
      const failures = failuresOf(scenario, result);
      // One record for the whole of it: no third CA was made.
      const records = result.calls.filter((call) => call === 'store record').length;
      if (failures.length > 0 || records !== 1) failed.push({ at, records, failures });
      const entered = result.store.audit.flatMap(
        ({ message }) => /^Pending is proved .* entering (\w+)$/.exec(message ?? '')?.[1] ?? [],
      );
      resumedIn.add(entered.at(-1));
    }

    expect(failed).toEqual([]);
    expect([...resumedIn]).toEqual(['Accepting', 'Issuing', 'Dropping', 'Finalizing']);
  });

  it('takes nothing back that the one before did, and leaves its record, when it is deleted before it went on', async () => {
    const { took } = await simulate(base);

    for (const share of [0.1, 0.4, 0.6, 0.8, 0.95]) {
      const at = Math.floor(took * share);
      const happenings = [
        { at, what: 'begin-anew' as const },
        { at: at + 20_000, what: 'delete' as const },
      ];
      const { end, violations, store } = await simulate({ ...base, happenings });

      const anew = store.audit.findIndex(({ effect }) => effect === 'abandon');
      expect(store.audit.slice(anew).map(({ effect, phase }) => [effect, phase])).toEqual([
        ['abandon', 'before'],
        ['abandon', 'after'],
      ]);
      expect({ end, violations, hasRecord: store.record !== undefined }).toEqual({
        end: 'gone',
        violations: [],
        hasRecord: true,
      });
    }
  });
});
