import { describe, expect, it } from 'vitest';
import { unreachableEndpoints } from '../../internal/controller/index.ts';
import { createFaultPlan, createProcess, createSimConnections, createWorld } from '../../internal/simulator/index.ts';
import { simulations } from './one-world.ts';
import { plain } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

/** Talos's own advice for a firewall: etcd, trustd and kubelets are for the cluster alone. */
const FIREWALL = [2379, 2380, 10_250, 50_001];

describe('a firewall that lets operators reach the Talos and the Kubernetes API alone', () => {
  const simulate = simulations();
  const everything = {
    ...plain('3+1', ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator']),
    closedPorts: FIREWALL,
  };

  it('is said before the start, port by port', async () => {
    const world = createWorld({ ...everything, mint: simulate.mint() });
    const connections = createSimConnections(world, createProcess('plan'), createFaultPlan(world, []));
    const machines = world.machines().map((machine) => ({ ...machine, apiServerPort: machine.view.apiServerPort }));
    const closed = await unreachableEndpoints({ connections, machines, targets: everything.targets });
    const open = await unreachableEndpoints({ connections, machines, targets: ['kubernetes-aggregator'] });

    expect(closed.map(({ text }) => text.split(':')[0])).toEqual([
      ...['cp1', 'cp2', 'cp3'].map((name, at) => `trustd of ${name} (10.5.0.${at + 1}`),
      ...['cp1', 'cp2', 'cp3'].map((name, at) => `kubelet of ${name} (10.5.0.${at + 1}`),
      'kubelet of w1 (10.5.1.4',
      ...['cp1', 'cp2', 'cp3'].map((name, at) => `etcd of ${name} (10.5.0.${at + 1}`),
      ...['cp1', 'cp2', 'cp3'].map((name, at) => `etcd peers of ${name} (10.5.0.${at + 1}`),
    ]);
    expect(closed[0]?.text).toBe('trustd of cp1 (10.5.0.1:50001): connect ECONNREFUSED 10.5.0.1:50001');
    expect(open).toEqual([]);
  });

  it('holds the rotation at its end, with the port named, and nothing but the proof left to do', async () => {
    const result = await simulate(everything);
    const { status } = result.operation ?? {};

    expect([result.end, status?.stage, status?.reason]).toEqual(['blocked', 'Finalizing', 'ProvingRefusal']);
    expect(status?.message).toContain('trustd of cp1 (10.5.0.1:50001)');
    expect(result.violations).toEqual([]);
  });

  it('lets it end where somebody said so, and names what was not tried', async () => {
    const scenario = { ...everything, spec: { unreachableEndpoints: 'Report' as const } };
    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('done');
    const { message = '' } = result.operation?.status ?? {};
    expect(message).toContain(
      'nothing is left on the old certificate authorities; not tried, because it could not be reached: ',
    );
    expect(message.match(/etcd of cp\d \(/g)).toEqual(['etcd of cp1 (', 'etcd of cp2 (', 'etcd of cp3 (']);
    expect(message).not.toContain('apid');
    // What etcd serves cannot be seen: nobody skips a reboot for it.
    expect(result.calls.filter((call) => call.startsWith('Reboot'))).toHaveLength(9);
  });
});
