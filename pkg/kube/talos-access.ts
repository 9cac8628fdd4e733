import { parse } from 'yaml';
import { type Certificate, parseCertificate } from '../pki/index.ts';
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

/** What the Secret of one access holds. */
export interface TalosAccessSecret extends TalosAccess {
  /** The client certificate in it; `undefined` where there is no Secret, or nothing in it that could be read. */
  readonly certificate: Certificate | undefined;
  /** Why there is none, in one clause. */
  readonly problem?: string;
}

/** As {@link listTalosAccess}, with the client certificate out of each Secret. The key beside it is not looked at and not kept. */
export async function readTalosAccess(
  client: KubeClient,
  options: CallOptions = {},
): Promise<readonly TalosAccessSecret[]> {
  const accesses = await listTalosAccess(client, options);
  return Promise.all(
    accesses.map(async (access) => ({ ...access, ...(await readCertificate(client, access, options)) })),
  );
}

async function readCertificate(
  client: KubeClient,
  { namespace, name }: TalosAccess,
  options: CallOptions,
): Promise<Pick<TalosAccessSecret, 'certificate' | 'problem'>> {
  const where = `the Secret ${namespace}/${name}`;
  try {
    const { data } = await client.request<{ readonly data?: Readonly<Record<string, string>> }>({
      method: 'GET',
      path: pathOf('api', 'v1', 'namespaces', namespace, 'secrets', name),
      doing: `read ${where}`,
      ...options,
    });
    return certificateIn(data?.config, where);
  } catch (error) {
    if (isKubeError(error, 'not-found')) return { certificate: undefined, problem: 'there is no Secret yet' };
    throw error;
  }
}

/** Talos puts a talosconfig under the key `config`. A message of YAML or PEM could quote a key, so none is passed on. */
function certificateIn(config: string | undefined, where: string): Pick<TalosAccessSecret, 'certificate' | 'problem'> {
  if (config === undefined) return { certificate: undefined, problem: 'it has no key config' };
  try {
    const { context, contexts } = parse(decoded(config)) as {
      readonly context: string;
      readonly contexts: Readonly<Record<string, { readonly crt: string }>>;
    };
    return { certificate: parseCertificate(decoded(contexts[context]?.crt ?? ''), where) };
  } catch {
    return { certificate: undefined, problem: 'its config is no talosconfig with a client certificate' };
  }
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

async function listAccounts(client: KubeClient, options: CallOptions): Promise<readonly KubeObject[]> {
  try {
    const { items } = await listAll<KubeObject>(client, {
      path: ACCOUNTS,
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

const ACCOUNTS = pathOf('apis', 'talos.dev', 'v1alpha1', 'serviceaccounts');
