import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { isKubeError } from './errors.ts';
import { listAll } from './lists.ts';
import type { LeaseObject } from './objects.ts';
import { parseTime, toMicroTime } from './times.ts';

/** A coordination.k8s.io/v1 Lease. Times in ms since the epoch, as the holder's clock wrote them. */
export interface Lease {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Empty text when nobody holds it. */
  readonly holder: string;
  readonly durationMs: number | undefined;
  readonly acquiredAt: number | undefined;
  readonly renewedAt: number | undefined;
  /** How often it went from one holder to another. */
  readonly transitions: number;
}

/** What is written; the rest of an existing Lease stays. */
export interface LeaseSpec {
  readonly holder: string;
  readonly durationMs: number;
  readonly acquiredAt: number;
  readonly renewedAt: number;
  readonly transitions: number;
}

/** Which Lease. */
export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

const GROUP = ['apis', 'coordination.k8s.io', 'v1', 'namespaces'] as const;

/** The Lease, or `undefined` when there is none. */
export async function readLease(
  client: KubeClient,
  of: LeaseName,
  options: CallOptions = {},
): Promise<Lease | undefined> {
  try {
    const object = await client.request<LeaseObject>({
      method: 'GET',
      path: pathOf(...GROUP, of.namespace, 'leases', of.name),
      doing: `read the Lease ${of.namespace}/${of.name}`,
      ...options,
    });
    return toLease(object);
  } catch (error) {
    if (isKubeError(error, 'not-found')) return undefined;
    throw error;
  }
}

/** Creates the Lease. KubeError `already-exists` when somebody was first. */
export async function createLease(
  client: KubeClient,
  of: LeaseName,
  spec: LeaseSpec,
  options: CallOptions = {},
): Promise<Lease> {
  const object = await client.request<LeaseObject>({
    method: 'POST',
    path: pathOf(...GROUP, of.namespace, 'leases'),
    body: { ...HEAD, metadata: { name: of.name, namespace: of.namespace }, spec: toSpec(spec) },
    contentType: 'application/json',
    doing: `create the Lease ${of.namespace}/${of.name}`,
    ...options,
  });
  return toLease(object);
}

/**
 * Writes `spec` over exactly the version in `current`: KubeError `conflict` when anybody changed, removed or recreated it
 * since it was read. Labels and annotations of others stay.
 */
export async function updateLease(
  client: KubeClient,
  current: Lease,
  spec: LeaseSpec,
  options: CallOptions = {},
): Promise<Lease> {
  const object = await client.request<LeaseObject>({
    method: 'PATCH',
    path: pathOf(...GROUP, current.namespace, 'leases', current.name),
    body: { metadata: { resourceVersion: current.resourceVersion }, spec: toSpec(spec) },
    contentType: 'application/merge-patch+json',
    doing: `renew the Lease ${current.namespace}/${current.name}`,
    ...options,
  });
  return toLease(object);
}

/** Deletes exactly the version in `current`; one that is gone already is fine. */
export async function deleteLease(client: KubeClient, current: Lease, options: CallOptions = {}): Promise<void> {
  try {
    await client.request({
      method: 'DELETE',
      path: pathOf(...GROUP, current.namespace, 'leases', current.name),
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: current.uid, resourceVersion: current.resourceVersion },
      },
      contentType: 'application/json',
      doing: `delete the Lease ${current.namespace}/${current.name}`,
      ...options,
    });
  } catch (error) {
    if (!isKubeError(error, 'not-found')) throw error;
  }
}

/** What the Lease of a node says. */
export interface NodeHeartbeat {
  /** When its kubelet renewed it last: every 10 s by default, in general each time a quarter of its duration is over. */
  readonly renewedAt: number | undefined;
  readonly durationMs: number | undefined;
}

/** The Lease of each node, by node name. */
export async function listNodeHeartbeats(
  client: KubeClient,
  options: CallOptions = {},
): Promise<ReadonlyMap<string, NodeHeartbeat>> {
  const { items } = await listAll<LeaseObject>(client, {
    path: NODE_LEASES,
    doing: 'list the Leases of the nodes',
    ...options,
  });
  return new Map(
    items.map((item) => {
      const { renewedAt, durationMs } = toLease(item);
      return [item.metadata.name, { renewedAt, durationMs }];
    }),
  );
}

const NODE_LEASES = pathOf(...GROUP, 'kube-node-lease', 'leases');

const HEAD = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;

function toSpec(spec: LeaseSpec) {
  return {
    holderIdentity: spec.holder,
    leaseDurationSeconds: Math.ceil(spec.durationMs / 1_000),
    acquireTime: toMicroTime(spec.acquiredAt),
    renewTime: toMicroTime(spec.renewedAt),
    leaseTransitions: spec.transitions,
  };
}

function toLease({ metadata, spec }: LeaseObject): Lease {
  const seconds = spec?.leaseDurationSeconds;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    holder: spec?.holderIdentity ?? '',
    durationMs: typeof seconds === 'number' ? seconds * 1_000 : undefined,
    acquiredAt: parseTime(spec?.acquireTime),
    renewedAt: parseTime(spec?.renewTime),
    transitions: spec?.leaseTransitions ?? 0,
  };
}
