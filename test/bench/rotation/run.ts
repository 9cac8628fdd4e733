import { buildIchor } from '../../e2e/ichor-process.ts';
import { credentialsIn } from '../../e2e/kubeconfig-credentials.ts';
import { sayOnStderr } from '../../support/clock-lines.ts';
import { takingDown } from '../../support/leaving.ts';
import { unmetNeeds } from '../../support/real.ts';
import { type TalosCluster, talosCluster } from '../../talos/cluster.ts';
import { startTraffic } from '../../talos/traffic.ts';
import { deployWorkloads } from '../../talos/workloads.ts';
import { ensureTools } from '../../tools/tools.ts';
import type { MeasuredSteps } from './floor.ts';
import { measureSteps } from './measure.ts';
import { rotateWithIchor } from './our-rotation.ts';
import type { RotationBenchmark } from './result.ts';
import { rotateWithTalosctl } from './talosctl-rotation.ts';

const SIZE = { controlPlanes: 3, workers: 1 } as const;

/**
 * Rotations of one real cluster with traffic and workloads on it: first what
 * Talos itself takes, then four CAs and the default pair by the built `ichor`,
 * then `talosctl rotate-ca`. About half an hour; needs Linux, root and Go. Ctrl-C and SIGTERM take the cluster down.
 */
export async function run(): Promise<RotationBenchmark> {
  await ensureTools({ required: true });
  const unmet = unmetNeeds({ linux: true, root: true });
  if (unmet.length > 0) throw new Error(unmet.join('\n'));
  const program = await buildIchor();
  return await takingDown(async ({ keep, signal }) =>
    rotations(await keep(talosCluster({ ...SIZE, name: 'bench31', signal })), program, signal),
  );
}

async function rotations(cluster: TalosCluster, program: string, signal: AbortSignal): Promise<RotationBenchmark> {
  await deployWorkloads(cluster);
  const measured = await measureWithTraffic(cluster);
  const ours = [];
  for (const { name, targets } of [
    { name: 'four CAs', targets: ['--all'] },
    { name: 'talos + kubernetes', targets: ['--ca', 'talos,kubernetes'] },
  ]) {
    sayOnStderr(`bench: rotating ${name}`);
    ours.push(await rotateWithIchor({ name, targets, cluster, program, measured }));
  }
  sayOnStderr('bench: talosctl rotate-ca');
  return { ...SIZE, measured, ours, talosctl: await rotateWithTalosctl(cluster, signal) };
}

/** Under the same traffic as the rotations: a kube-apiserver with clients takes longer to stop. */
async function measureWithTraffic(cluster: TalosCluster): Promise<MeasuredSteps> {
  await using _traffic = startTraffic({
    servers: cluster.apiServers,
    credentials: credentialsIn(cluster.kubeconfigFile),
  });
  return await measureSteps(cluster, sayOnStderr);
}
