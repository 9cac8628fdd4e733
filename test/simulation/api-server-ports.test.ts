import { describe, expect, it } from 'vitest';
import { unreachableEndpoints } from '../../internal/controller/index.ts';
import {
  createFaultPlan,
  createProcess,
  createSimConnections,
  createWorld,
  type Scenario,
} from '../../internal/simulator/index.ts';
import { simulations } from './one-world.ts';
import { plain } from './scenarios.ts';
import { failuresOf } from './verdict.ts';

/** Each control plane has its own, the last one the usual. */
const PORTS = [7443, 443];

describe('API servers on other ports than 6443', () => {
  const simulate = simulations();
  const all = {
    ...plain('3+1', ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator']),
    apiServerPorts: PORTS,
  };

  it.each<[string, Scenario]>([
    ['in the typed shape', all],
    ['in the old shape', { ...all, targets: ['talos', 'kubernetes', 'etcd'], shape: 'legacy', talosVersion: '1.13.2' }],
    ['of a single control plane', { ...all, controlPlanes: 1 }],
  ])('serve through a whole rotation %s', async (_what, scenario) => {
    const result = await simulate(scenario);

    expect(failuresOf(scenario, result)).toEqual([]);
    expect(result.end).toBe('done');
    expect(result.world.planes().map(({ plane }) => plane?.apiServer.port)).toEqual(
      [7443, 443, 6443].slice(0, scenario.controlPlanes),
    );
  });

  it('are tried with old credentials where they listen: the rotation is held where that port is closed', async () => {
    const result = await simulate({ ...all, targets: ['kubernetes'], closedPorts: [7443] });
    const { status } = result.operation ?? {};

    expect([result.end, status?.stage, status?.reason]).toEqual(['blocked', 'Finalizing', 'ProvingRefusal']);
    expect(status?.message).toContain('kube-apiserver of cp1 (10.5.0.1:7443)');
  });

  it('are asked for by the plan where they listen', async () => {
    const scenario = { ...all, closedPorts: [7443, 6443] };
    const world = createWorld({ ...scenario, mint: simulate.mint() });
    const connections = createSimConnections(world, createProcess('plan'), createFaultPlan(world, []));
    const machines = world.machines().map((machine) => ({ ...machine, apiServerPort: machine.view.apiServerPort }));

    const closed = await unreachableEndpoints({ connections, machines, targets: ['kubernetes-aggregator'] });

    expect(closed).toEqual([
      {
        port: 7443,
        text: 'kube-apiserver as front proxy of cp1 (10.5.0.1:7443): connect ECONNREFUSED 10.5.0.1:7443',
      },
      {
        port: 6443,
        text: 'kube-apiserver as front proxy of cp3 (10.5.0.3:6443): connect ECONNREFUSED 10.5.0.3:6443',
      },
    ]);
  });
});
