import { existsSync, rmSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTalosMachine, readTalosconfigFile, selectContext } from '../../../pkg/talos/index.ts';
import { credentialsIn } from '../../e2e/kubeconfig-credentials.ts';
import { atExit } from '../../support/leaving.ts';
import { succeeded } from '../../talos/clients.ts';
import type { TalosCluster } from '../../talos/cluster.ts';
import { kubeconfigCredentials, startTraffic, type Traffic, type TrafficCredentials } from '../../talos/traffic.ts';
import { untilHealthy } from './healthy.ts';
import { clientFigures, type RotationFigures } from './result.ts';

const TIMEOUT_MS = 1_200_000;
const FOLLOW_EVERY_MS = 500;

/**
 * `talosctl rotate-ca`, the plain client of Talos, on the same cluster with the
 * same traffic. It has no hand-off, so its clients are given the best that they
 * can have: a new kubeconfig is asked for twice a second, and once its CA is
 * another one, both CAs are trusted. What talosctl prints may hold keys; it is
 * kept nowhere. The cluster's `secrets.yaml` is not its bundle any more after this.
 */
export async function rotateWithTalosctl(cluster: TalosCluster, signal: AbortSignal): Promise<RotationFigures> {
  const work = await mkdtemp(join(tmpdir(), 'ichor-bench-'));
  using _gone = atExit(() => rmSync(work, { recursive: true, force: true }));
  const talosconfig = join(work, 'talosconfig');
  const credentials = credentialsIn(cluster.kubeconfigFile);
  try {
    await using traffic = startTraffic({ servers: cluster.apiServers, credentials });
    const begin = performance.now();
    const rotation = runRotateCa(cluster, talosconfig, signal);
    const following = followKubeconfig(cluster, talosconfig, { traffic, credentials, until: rotation });
    const code = await rotation;
    const wallMs = performance.now() - begin;
    await following;
    if (code !== 0) throw new Error(`talosctl rotate-ca ended with exit code ${code}`);
    await copyFile(talosconfig, cluster.talosconfigFile);
    // Made anew: talosctl would merge into the one that is there.
    await rm(cluster.kubeconfigFile);
    const kubeconfig = await cluster.talosctl(['kubeconfig', '--force', cluster.kubeconfigFile]);
    succeeded('talosctl kubeconfig', kubeconfig);
    traffic.use(withTrust(credentialsIn(cluster.kubeconfigFile), credentials));
    await untilHealthy(cluster);
    const healthyMs = performance.now() - begin;
    return { name: 'talosctl rotate-ca', wallMs, healthyMs, clients: clientFigures(await traffic.stop()) };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function runRotateCa(cluster: TalosCluster, talosconfig: string, signal: AbortSignal): Promise<number> {
  const addresses = (machines: TalosCluster['machines']) => machines.map(({ address }) => address).join(',');
  const args = ['rotate-ca', '--dry-run=false', '--talos', '--kubernetes', '--output', talosconfig];
  args.push('--control-plane-nodes', addresses(cluster.controlPlanes));
  if (cluster.workers.length > 0) args.push('--worker-nodes', addresses(cluster.workers));
  const { code } = await cluster.talosctl(args, { timeoutMs: TIMEOUT_MS, signal });
  return code;
}

interface Following {
  readonly traffic: Traffic;
  readonly credentials: TrafficCredentials;
  readonly until: Promise<unknown>;
}

/** Gives the traffic a new kubeconfig as soon as the first control plane issues one with another CA. */
async function followKubeconfig(
  cluster: TalosCluster,
  newTalosconfig: string,
  { traffic, credentials, until }: Following,
): Promise<void> {
  let over = false;
  const end = () => {
    over = true;
  };
  void until.then(end, end);
  let last = credentials.ca;
  while (!over) {
    const file = existsSync(newTalosconfig) ? newTalosconfig : cluster.talosconfigFile;
    const issued = await issueKubeconfig(cluster, file);
    if (issued !== undefined && issued.ca.trim() !== last.trim()) {
      last = issued.ca;
      traffic.use(withTrust(issued, credentials));
    }
    await sleep(FOLLOW_EVERY_MS);
  }
}

/** Nothing where the machine refuses or does not answer, as it may while it changes. */
async function issueKubeconfig(cluster: TalosCluster, talosconfig: string): Promise<TrafficCredentials | undefined> {
  const [machine] = cluster.controlPlanes;
  if (machine === undefined) throw new Error('the cluster has no control plane');
  try {
    const { trust, credentials } = selectContext(await readTalosconfigFile(talosconfig), talosconfig);
    const client = createTalosMachine({ name: machine.name, address: machine.address, trust, credentials });
    try {
      return kubeconfigCredentials((await client.kubeconfig({ deadlineMs: 5_000 })).expose());
    } finally {
      client.close();
    }
  } catch {
    return undefined;
  }
}

function withTrust(credentials: TrafficCredentials, before: TrafficCredentials): TrafficCredentials {
  return { ...credentials, ca: `${before.ca.trimEnd()}\n${credentials.ca}` };
}
