import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { performance } from 'node:perf_hooks';
import { CA_TARGETS, type OperationSpec } from '../../../api/v1alpha1/index.ts';
import { type ClusterView, createClusterView } from '../../../internal/cli/cluster-view.ts';
import { draftOperation } from '../../../internal/cli/operations.ts';
import { createConnections, runningApiServers } from '../../../internal/controller/index.ts';
import { DEFAULT_SETTINGS, firstBlocker, type Gate } from '../../../internal/rotation/context.ts';
import { contextOf } from '../../../internal/rotation/decide.ts';
import { AFTER_REBOOT, STAGE_PROVED } from '../../../internal/rotation/gates/index.ts';
import { createSystemClock } from '../../../pkg/clock/index.ts';
import { renderStage } from '../../../pkg/machineconfig/index.ts';
import { createCa, Secret } from '../../../pkg/pki/index.ts';
import { createMemoryStore } from '../../builders/memory-store.ts';
import { credentialsIn } from '../../e2e/kubeconfig-credentials.ts';
import type { Say } from '../../support/clock-lines.ts';
import type { TalosCluster } from '../../talos/cluster.ts';
import type { RigMachine } from '../../talos/machine.ts';
import { ask } from '../../talos/traffic-http.ts';
import { waitFor } from '../../talos/wait.ts';
import type { MeasuredSteps } from './floor.ts';

const PATIENCE_MS = 600_000;

/** What the measuring asks a cluster with. */
interface Gauge {
  readonly cluster: TalosCluster;
  readonly view: ClusterView;
  /** Whether these gates of the engine hold; throws what is in the way. */
  hold(gates: readonly Gate[]): Promise<true>;
}

/**
 * Measures what Talos itself takes, on every control plane once: a boot through
 * the Talos API, and the restart of kube-apiserver for a Kubernetes CA that is
 * accepted and taken back again.
 */
export async function measureSteps(cluster: TalosCluster, say: Say): Promise<MeasuredSteps> {
  const endpoints = cluster.controlPlanes.map(({ address }) => address);
  const store = await createMemoryStore(await readFile(cluster.secretsFile), endpoints);
  const clock = createSystemClock();
  using view = createClusterView({ store, connections: createConnections(), clock });
  const gauge: Gauge = {
    cluster,
    view,
    async hold(gates) {
      const observation = await view.observe(draftOperation(SPEC, clock.now()));
      const blocker = firstBlocker(gates, contextOf(observation, DEFAULT_SETTINGS));
      if (blocker !== undefined) throw new Error(blocker.message);
      return true;
    },
  };
  const { bundle } = await store.readState();
  const other = await createCa('kubernetes', { now: clock.now(), backdateMs: 300_000 });
  const change = { target: 'kubernetes', old: bundle.kubernetes, new: other } as const;
  await settled(gauge);
  const apiServerRestarts: number[] = [];
  const boots: number[] = [];
  for (const machine of cluster.controlPlanes) {
    const { before, version } = await readConfiguration(gauge, machine);
    const accepting = renderStage(before, [change], 'Accepting', { talosVersion: version });
    for (const config of [accepting, before]) {
      apiServerRestarts.push(await restartMs(gauge, machine, config));
      say(`bench: kube-apiserver of ${machine.name} restarted in ${seconds(apiServerRestarts.at(-1))}`);
      await settled(gauge);
    }
  }
  for (const machine of cluster.controlPlanes) {
    boots.push(await bootMs(gauge, machine));
    say(`bench: ${machine.name} booted to healthy in ${seconds(boots.at(-1))}`);
    await settled(gauge);
  }
  return { boots, apiServerRestarts };
}

/** A draft that touches every part of a cluster; it is never stored. */
const SPEC: OperationSpec = {
  type: 'CARotation',
  caRotation: { targets: [...CA_TARGETS] },
  paused: false,
  restartWorkloads: 'Never',
  previousBundle: 'Remove',
};

async function readConfiguration(
  { view }: Gauge,
  machine: RigMachine,
): Promise<{ readonly before: string; readonly version: string }> {
  return view.session.talos(machine, async (client) => ({
    before: (await client.configuration('active')).config.expose(),
    version: (await client.version()).tag.replace(/^v/, ''),
  }));
}

async function restartMs({ cluster, view }: Gauge, machine: RigMachine, config: string): Promise<number> {
  const before = await view.session.talos(machine, runningApiServers);
  const begin = performance.now();
  await view.session.talos(machine, (client) =>
    client.apply({ config: Secret.of('machine-config', config), mode: 'NO_REBOOT' }),
  );
  await waitFor(
    `a new kube-apiserver on ${machine.name}`,
    PATIENCE_MS,
    async () => {
      const now = await view.session.talos(machine, runningApiServers);
      // While the one of before is still ending, it is what answers on the port.
      return now.length > 0 && !now.some((id) => before.includes(id)) && (await isReady(cluster, machine));
    },
    200,
  );
  return performance.now() - begin;
}

async function bootMs(gauge: Gauge, machine: RigMachine): Promise<number> {
  const { cluster, view } = gauge;
  const before = machine.bootId();
  const begin = performance.now();
  await view.session.talos(machine, (client) => client.reboot('DEFAULT'));
  view.session.forget(machine);
  // Asked first, because it costs nothing: no gate holds before it.
  await waitFor(
    `${machine.name} to come back`,
    PATIENCE_MS,
    async () => machine.bootId() !== before && (await isReady(cluster, machine)),
    200,
  );
  // What the engine asks before it goes on to the next machine.
  await waitFor('every gate to hold', PATIENCE_MS, () => gauge.hold(AFTER_REBOOT));
  return performance.now() - begin;
}

/** Not measured: every measurement starts on a cluster that is quiet. */
async function settled(gauge: Gauge): Promise<void> {
  await waitFor('every gate to hold', PATIENCE_MS, () => gauge.hold(STAGE_PROVED));
}

/** Whether the kube-apiserver that listens on a machine now is ready; over a connection of its own. */
async function isReady(cluster: TalosCluster, machine: RigMachine): Promise<boolean> {
  const agent = new Agent({ ...credentialsIn(cluster.kubeconfigFile) });
  const server = `https://${machine.address}:6443`;
  try {
    return (await ask({ server, agent, timeoutMs: 2_000, method: 'GET', path: '/readyz' })) === 'ok';
  } finally {
    agent.destroy();
  }
}

function seconds(ms: number | undefined): string {
  return `${((ms ?? 0) / 1000).toFixed(1)} s`;
}
