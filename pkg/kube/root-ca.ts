import { type Fingerprint, scanCertificates } from '../pki/index.ts';
import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { listAll } from './lists.ts';
import type { ConfigMapObject, KubeObject } from './objects.ts';

/** `kube-root-ca.crt` of one namespace: what its pods trust API servers by. */
export interface NamespaceRootCa {
  readonly namespace: string;
  /** The namespace is being deleted: its ConfigMap may be gone for good. */
  readonly leaving: boolean;
  /** SHA-256 of each certificate in it, in order; empty when the ConfigMap or its key is missing. */
  readonly fingerprints: readonly Fingerprint[];
  /** What is wrong with the ConfigMap, in one clause; `undefined` when nothing is. */
  readonly problem: string | undefined;
}

/**
 * Every namespace with its `kube-root-ca.crt`, sorted; namespaces that have none are in the list too. The namespaces are
 * read before the ConfigMaps, so a namespace made in between shows up next time and never as one without.
 */
export async function listRootCas(client: KubeClient, options: CallOptions = {}): Promise<readonly NamespaceRootCa[]> {
  const namespaces = await listAll<KubeObject>(client, {
    path: pathOf('api', 'v1', 'namespaces'),
    metadataOnly: true,
    doing: 'list the namespaces',
    ...options,
  });
  const maps = await listAll<ConfigMapObject>(client, {
    path: pathOf('api', 'v1', 'configmaps'),
    query: { fieldSelector: 'metadata.name=kube-root-ca.crt' },
    doing: 'list the kube-root-ca.crt of every namespace',
    ...options,
  });
  const byNamespace = new Map(maps.items.map((map) => [map.metadata.namespace, map]));
  return namespaces.items
    .map(({ metadata }) => ({
      namespace: metadata.name,
      leaving: metadata.deletionTimestamp !== undefined,
      ...read(byNamespace.get(metadata.name)),
    }))
    .sort((a, b) => (a.namespace < b.namespace ? -1 : 1));
}

function read(map: ConfigMapObject | undefined): Pick<NamespaceRootCa, 'fingerprints' | 'problem'> {
  if (map === undefined) return { fingerprints: [], problem: 'there is no ConfigMap kube-root-ca.crt' };
  const pem = map.data?.['ca.crt'];
  if (pem === undefined) return { fingerprints: [], problem: 'the ConfigMap has no key ca.crt' };
  const { certificates, problems } = scanCertificates(pem);
  return { fingerprints: certificates.map(({ fingerprint }) => fingerprint), problem: problems[0]?.message };
}
