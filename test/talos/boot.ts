import { join } from 'node:path';
import type { Say } from '../support/clock-lines.ts';
import { unlessAborted } from '../support/leaving.ts';
import { runKubectl, runTalosctl, succeeded } from './clients.ts';
import type { CgroupVersion } from './host/cgroups.ts';
import { addressOf } from './host/network.ts';
import { machineNames } from './layout.ts';
import { openMachine, type RigMachine } from './machine.ts';
import { createMachine } from './machine-files.ts';
import type { ClusterRecord } from './record.ts';
import { waitFor } from './wait.ts';

/** What was reached on the way up, and when, in milliseconds since the first machine was powered on. */
export type Milestones = Readonly<Record<string, number>>;

/** Powers the machines on, bootstraps etcd and waits until the cluster is healthy; throws once `signal` fires. */
export async function bootCluster(
  record: ClusterRecord,
  cgroups: CgroupVersion,
  { say, signal }: { readonly say: Say; readonly signal: AbortSignal | undefined },
): Promise<Milestones> {
  const begin = Date.now();
  const milestones: Record<string, number> = {};
  const reached = (what: string) => {
    milestones[what] = Date.now() - begin;
    say(`talos ${record.name}: ${what} after ${(milestones[what] / 1000).toFixed(1)} s`);
  };
  for (const [index, name] of machineNames(record).entries()) {
    signal?.throwIfAborted();
    await createMachine(record, name, index + 1);
    await openMachine(record, name, index + 1, cgroups).powerOn();
  }
  // From here on machines are only asked: whatever is under way when the signal fires makes nothing more.
  await unlessAborted(bootstrapped(record, reached), signal);
  return milestones;
}

async function bootstrapped(record: ClusterRecord, reached: (what: string) => void): Promise<void> {
  await waitFor(
    'the Talos API to accept the bootstrap of etcd',
    300_000,
    async () => succeeded('talosctl bootstrap', await runTalosctl(record, ['bootstrap'])) !== undefined,
  );
  reached('bootstrapped');
  await waitFor(`${record.controlPlanes} voting members of etcd`, 600_000, () => hasAllMembers(record), 500);
  reached('etcd complete');
  await waitFor(
    'a kubeconfig',
    300_000,
    async () =>
      succeeded(
        'talosctl kubeconfig',
        await runTalosctl(record, ['kubeconfig', '--force', join(record.directory, 'kubeconfig')]),
      ) !== undefined,
  );
  await waitFor('the Kubernetes API', 600_000, () => apiLives(record), 500);
  reached('Kubernetes API live');
  await clusterHealthy(record);
  reached('healthy');
}

/** Waits until every node is ready and `talosctl health` agrees. */
export async function clusterHealthy(record: ClusterRecord, timeoutMs = 600_000): Promise<void> {
  const begin = Date.now();
  await waitFor('all nodes to be ready', timeoutMs, () => nodesReady(record), 500);
  const remaining = Math.max(10, Math.ceil((timeoutMs - (Date.now() - begin)) / 1000));
  const network = { cluster: record.name, index: record.index };
  const all = machineNames(record).map((_, index) => addressOf(network, index + 1));
  const workers = all.slice(record.controlPlanes).join(',');
  const args = ['health', '--wait-timeout', `${remaining}s`];
  args.push('--control-plane-nodes', all.slice(0, record.controlPlanes).join(','));
  if (workers !== '') args.push('--worker-nodes', workers);
  const result = await runTalosctl(record, args, { timeoutMs: (remaining + 20) * 1000 });
  succeeded('talosctl health', result);
}

/** Shuts the machines down through the API, all at once; --force because etcd members cannot leave in order when all go. */
export async function shutDownCluster(record: ClusterRecord, machines: readonly RigMachine[]): Promise<void> {
  const on = machines.filter((machine) => machine.isOn());
  for (const { address, name } of on) {
    const result = await runTalosctl(record, ['shutdown', '--force', '--wait=false'], { node: address });
    succeeded(`shutdown of ${name}`, result);
  }
  for (const machine of on) await waitFor(`${machine.name} to shut down`, 120_000, () => !machine.isOn());
}

/** Powers on what is off and waits until the cluster is healthy. */
export async function startCluster(record: ClusterRecord, machines: readonly RigMachine[]): Promise<void> {
  for (const machine of machines) if (!machine.isOn()) await machine.powerOn();
  await waitFor('the Kubernetes API', 600_000, () => apiLives(record), 500);
  await clusterHealthy(record);
}

async function hasAllMembers(record: ClusterRecord): Promise<boolean> {
  const members = succeeded('talosctl etcd members', await runTalosctl(record, ['etcd', 'members']));
  return members.split('\n').filter((line) => /:2379.*false/.test(line)).length === record.controlPlanes;
}

async function apiLives(record: ClusterRecord): Promise<boolean> {
  return (await runKubectl(record, ['get', '--raw', '/livez'])).stdout === 'ok';
}

async function nodesReady(record: ClusterRecord): Promise<boolean> {
  const nodes = succeeded('kubectl get nodes', await runKubectl(record, ['get', 'nodes', '--no-headers']));
  const ready = nodes.split('\n').filter((line) => / Ready /.test(line)).length;
  return ready === record.controlPlanes + record.workers;
}
