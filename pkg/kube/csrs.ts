import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { listAll } from './lists.ts';
import type { Condition, KubeObject } from './objects.ts';
import { parseTime } from './times.ts';

/** A certificates.k8s.io/v1 CertificateSigningRequest, without its request. */
export interface SigningRequest {
  readonly name: string;
  /** Such as `kubernetes.io/kube-apiserver-client-kubelet`. */
  readonly signer: string;
  /** Who asked: `system:node:NAME` or `system:bootstrap:ID`. */
  readonly requester: string;
  readonly createdAt: number | undefined;
  /** `approved` is approved and not signed yet: its signer does not run or refuses. */
  readonly state: 'pending' | 'approved' | 'issued' | 'denied' | 'failed';
  /** Why it was denied or failed. */
  readonly message: string;
}

interface SigningRequestObject extends KubeObject {
  readonly spec: { readonly signerName: string; readonly username?: string };
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly Condition[] };
}

/** Every CSR that the cluster keeps, oldest first. A kubelet asks for a new certificate when its old CA is dropped. */
export async function listSigningRequests(
  client: KubeClient,
  options: CallOptions = {},
): Promise<readonly SigningRequest[]> {
  const { items } = await listAll<SigningRequestObject>(client, {
    path: pathOf('apis', 'certificates.k8s.io', 'v1', 'certificatesigningrequests'),
    doing: 'list the certificate signing requests',
    ...options,
  });
  return items
    .map(({ metadata, spec, status }) => ({
      name: metadata.name,
      signer: spec.signerName,
      requester: spec.username ?? '',
      createdAt: parseTime(metadata.creationTimestamp),
      ...stateOf(status),
    }))
    .sort((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0));
}

function stateOf(status: SigningRequestObject['status']): Pick<SigningRequest, 'state' | 'message'> {
  const conditions = status?.conditions ?? [];
  const ended = conditions.find(({ type }) => type === 'Denied' || type === 'Failed');
  if (ended !== undefined) {
    return { state: ended.type === 'Denied' ? 'denied' : 'failed', message: ended.message ?? '' };
  }
  if ((status?.certificate ?? '') !== '') return { state: 'issued', message: '' };
  return { state: conditions.some(({ type }) => type === 'Approved') ? 'approved' : 'pending', message: '' };
}
