import { describe, expect, it } from 'vitest';
import { BRISK, type Scenario } from '../../internal/simulator/index.ts';
import { simulations } from './one-world.ts';
import { plain } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

const short = (topology: string, targets: Scenario['targets'], more: Partial<Scenario> = {}): Scenario => ({
  ...plain(topology, targets),
  timing: BRISK,
  settings: { aggregatorSettleMs: 20_000, authenticationWatchMs: 20_000 },
  ...more,
});

describe('a rotation that is blocked, by what only hands can mend', () => {
  const simulate = simulations();

  /** Says what a person did; the rest of the run has to be as good as any. */
  async function helped(scenario: Scenario): Promise<string | undefined> {
    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('done');
    return result.helped;
  }

  it('goes on when a machine is rebooted that heard no request, while our program was frozen twice', async () => {
    const base = short('3+0', ['etcd']);
    const { calls } = await simulate(base);
    const at = calls.indexOf('Reboot cp2');
    // What failed, that it cannot land any more, and the mark are written before it is asked again.
    const faults = [at, at + 4].map((each) => ({ at: each, outcome: 'pause' as const }));

    expect(await helped({ ...base, faults })).toBe('a person reboots cp2, because of RebootOverdue');
  });

  it('goes on when a control plane is rebooted that was replaced two stages behind the leader of etcd', async () => {
    const base = short('3+0', ['etcd']);
    const { world } = await simulate(base);
    const [, issuing] = world.lines.filter(({ what }) => /^call \d+ ApplyConfiguration cp1$/.test(what));
    const at = (issuing?.at ?? 0) + 1_200;
    const happenings = [{ at, what: 'replace' as const, machine: 'cp2', with: 'born' as const, forMs: 5_000 }];

    expect(await helped({ ...base, happenings })).toBe('a person reboots cp2, because of ProvingMachine');
  });

  it('goes on when a worker is rebooted that asked a replaced control plane before that was told', async () => {
    const happenings = [{ at: 10_000, what: 'replace' as const, machine: 'cp2', with: 'born' as const, forMs: 6_000 }];

    expect(await helped(short('3+1', ['talos'], { seed: 657, happenings }))).toBe(
      'a person reboots w1, because of ProvingMachine',
    );
  });

  it('needs nobody where nothing is wrong', async () => {
    expect(await helped(short('3+1', ['talos', 'etcd']))).toBeUndefined();
  });
});
