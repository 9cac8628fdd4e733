import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { isKubeError } from './errors.ts';
import { listAll } from './lists.ts';
import type { KubeObject } from './objects.ts';
import { listPods, mountedSecrets } from './pods.ts';

/**
 * Programs in the cluster that call the Talos API: a `talos.dev` ServiceAccount, the Secret of the same name that Talos
 * fills for it, and the pods that mount it. The Secret holds one CA only and changes during the switch (measured), so its
 * clients have no overlap and are listed in the plan.
 */
export interface TalosAccess {
  readonly namespace: string;
  /** Name of the ServiceAccount and of its Secret. */
  readonly name: string;
  /** Pods that mount the Secret, sorted. */
  readonly pods: readonly string[];
}

/**
 * Every Talos access of the cluster, sorted; empty where Talos's own ServiceAccount type is not installed. Names alone are
 * read, never a Secret.
 */
export async function listTalosAccess(client: KubeClient, options: CallOptions = {}): Promise<readonly TalosAccess[]> {
  const accounts = await listAccounts(client, options);
  if (accounts.length === 0) return [];
  const pods = await listPods(client, options);
  return accounts
    .map(({ metadata }) => {
      const namespace = metadata.namespace ?? '';
      const holders = pods.filter(
        (pod) => pod.metadata.namespace === namespace && mountedSecrets(pod).includes(metadata.name),
      );
      return { namespace, name: metadata.name, pods: holders.map((pod) => pod.metadata.name).sort() };
    })
    .sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
}

async function listAccounts(client: KubeClient, options: CallOptions): Promise<readonly KubeObject[]> {
  try {
    const { items } = await listAll<KubeObject>(client, {
      path: pathOf('apis', 'talos.dev', 'v1alpha1', 'serviceaccounts'),
      metadataOnly: true,
      doing: 'list the Talos service accounts',
      ...options,
    });
    return items;
  } catch (error) {
    if (isKubeError(error, 'discovery') && error.status === 404) return [];
    throw error;
  }
}
