import { type Fingerprint, scanCertificates } from '../pki/index.ts';
import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { isKubeError } from './errors.ts';
import type { ConfigMapObject } from './objects.ts';

/**
 * `kube-system/extension-apiserver-authentication`: what extension API servers trust. Every API server merges its own CAs
 * into it and none ever removes one, so an old CA leaves only when the whole ConfigMap is deleted.
 */
export interface AggregatorAuth {
  readonly uid: string;
  readonly resourceVersion: string;
  /** SHA-256 of each CA that may sign the front proxy's certificate, in order. */
  readonly requestHeaderCas: readonly Fingerprint[];
  /** SHA-256 of each CA that may sign users' certificates, in order. */
  readonly clientCas: readonly Fingerprint[];
  /** What is wrong with either bundle, in one clause; `undefined` when nothing is. */
  readonly problem: string | undefined;
}

const NAME = 'extension-apiserver-authentication';
const PATH = pathOf('api', 'v1', 'namespaces', 'kube-system', 'configmaps', NAME);

/** The ConfigMap, or `undefined` while there is none. */
export async function readAggregatorAuth(
  client: KubeClient,
  options: CallOptions = {},
): Promise<AggregatorAuth | undefined> {
  try {
    const map = await client.request<ConfigMapObject>({
      method: 'GET',
      path: PATH,
      doing: `read the ConfigMap kube-system/${NAME}`,
      ...options,
    });
    const requestHeader = scan(map, 'requestheader-client-ca-file');
    const client_ = scan(map, 'client-ca-file');
    return {
      uid: map.metadata.uid,
      resourceVersion: map.metadata.resourceVersion,
      requestHeaderCas: requestHeader.fingerprints,
      clientCas: client_.fingerprints,
      problem: requestHeader.problem ?? client_.problem,
    };
  } catch (error) {
    if (isKubeError(error, 'not-found')) return undefined;
    throw error;
  }
}

/**
 * Deletes the ConfigMap that has this UID; API servers write it anew within a second, each with its own CAs.
 * `already-gone`: it is missing, or another one has taken its place, which is left alone.
 */
export async function deleteAggregatorAuth(
  client: KubeClient,
  uid: string,
  options: CallOptions = {},
): Promise<'deleted' | 'already-gone'> {
  try {
    await client.request({
      method: 'DELETE',
      path: PATH,
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
      contentType: 'application/json',
      doing: `delete the ConfigMap kube-system/${NAME}`,
      ...options,
    });
    return 'deleted';
  } catch (error) {
    if (isKubeError(error, 'not-found', 'conflict')) return 'already-gone';
    throw error;
  }
}

function scan(map: ConfigMapObject, key: string): { fingerprints: Fingerprint[]; problem: string | undefined } {
  const pem = map.data?.[key];
  if (pem === undefined) return { fingerprints: [], problem: `it has no key ${key}` };
  const { certificates, problems } = scanCertificates(pem);
  const problem = problems[0]?.message;
  return {
    fingerprints: certificates.map(({ fingerprint }) => fingerprint),
    problem: problem === undefined ? undefined : `${key}: ${problem}`,
  };
}
