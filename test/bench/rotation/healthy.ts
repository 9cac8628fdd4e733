import { succeeded } from '../../talos/clients.ts';
import type { TalosCluster } from '../../talos/cluster.ts';
import { waitFor } from '../../talos/wait.ts';

const PATIENCE_MS = 900_000;

/**
 * Waits until a cluster is healthy in the eyes of its own tools: every Node
 * Ready, `talosctl health`, and every control plane pod Ready. The same question
 * after every rotation, whoever did it.
 */
export async function untilHealthy(cluster: TalosCluster): Promise<void> {
  await waitFor(`the cluster ${cluster.name} to be healthy`, PATIENCE_MS, async () => {
    if (!(await controlPlanePodsReady(cluster))) return false;
    await cluster.healthy(60_000);
    // talosctl health takes seconds, in which a pod may have gone again.
    return controlPlanePodsReady(cluster);
  });
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

/** The three static pods of every control plane are there and Ready. */
async function controlPlanePodsReady(cluster: TalosCluster): Promise<boolean> {
  const text = succeeded('list pods', await cluster.kubectl(['-n', 'kube-system', 'get', 'pods', '-o', 'json']));
  const { items } = JSON.parse(text) as PodList;
  const wanted = cluster.controlPlanes.flatMap(({ name }) =>
    ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((component) => `${component}-${name}`),
  );
  const ready = items.filter(({ status }) =>
    status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True'),
  );
  return wanted.every((name) => ready.some((pod) => pod.metadata.name === name));
}
