import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { listNodeHeartbeats } from './leases.ts';
import { listAll } from './lists.ts';
import type { NodeObject } from './objects.ts';
import { parseTime } from './times.ts';

/** A Node, with what says whether its "Ready" can be believed. Times in ms since the epoch, by the node's own clock. */
export interface NodeView {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Changes with every boot; empty when the kubelet has not reported yet. */
  readonly bootId: string;
  /** Status of the Ready condition; `Missing` when there is none. */
  readonly ready: 'True' | 'False' | 'Unknown' | 'Missing';
  readonly readyReason: string;
  readonly readyMessage: string;
  /** When the kubelet wrote its status last (every 5 minutes when nothing changes, and at its start). */
  readonly heartbeatAt: number | undefined;
  /** When the kubelet renewed its Lease last (every 10 s). */
  readonly leaseRenewedAt: number | undefined;
  /** How long that Lease lasts: 40 s, unless the kubelet was told otherwise (`nodeLeaseDurationSeconds`). */
  readonly leaseDurationMs: number | undefined;
  readonly unschedulable: boolean;
  /** Who of us cordoned it (`CORDONED_BY`), if one of us did. */
  readonly cordonedBy: string | undefined;
  readonly isControlPlane: boolean;
  readonly internalIps: readonly string[];
  readonly kubeletVersion: string;
  readonly osImage: string;
  readonly createdAt: number | undefined;
  /** It is being deleted. */
  readonly leaving: boolean;
}

/** Annotation on a Node that one of us cordoned; its value is the owner that `cordonNode` was given. */
export const CORDONED_BY = 'ichor.maesh.dev/cordoned-by';

const NODES = pathOf('api', 'v1', 'nodes');

/** Every Node with its Lease, sorted by name. */
export async function listNodes(client: KubeClient, options: CallOptions = {}): Promise<readonly NodeView[]> {
  const [nodes, heartbeats] = await Promise.all([
    listAll<NodeObject>(client, { path: NODES, doing: 'list the nodes', ...options }),
    listNodeHeartbeats(client, options),
  ]);
  return nodes.items
    .map((node) => {
      const heartbeat = heartbeats.get(node.metadata.name);
      return toNodeView(node, heartbeat?.renewedAt, heartbeat?.durationMs);
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Reads one Node object as it is. KubeError `not-found` when there is none. */
export async function readNode(client: KubeClient, name: string, options: CallOptions = {}): Promise<NodeObject> {
  return await client.request<NodeObject>({
    method: 'GET',
    path: pathOf('api', 'v1', 'nodes', name),
    doing: `read the node ${name}`,
    ...options,
  });
}

/** What counts as believable. */
export interface ReadinessBounds {
  /** The time now, ms since the epoch. */
  readonly now: number;
  /** Signs of life before this count for nothing: the time of the boot, the loss or the restart that is waited out. */
  readonly since?: number | undefined;
  /**
   * A Lease older than this is no sign of life. When absent, five eighths of its duration, 25,000 ms at least: two renewals
   * missed, well before the 40 s grace.
   */
  readonly staleAfterMs?: number | undefined;
}

/**
 * Whether a Node is ready now, or the sentence that says why that is not believed.
 *
 * The Ready condition stays True for 40 s after a node is lost, because nobody writes it meanwhile (measured: after a power
 * loss it stays so until the lease runs out). So a Lease renewed lately, and after `since`, is asked for as well.
 */
export function whyNotReady(node: NodeView, bounds: ReadinessBounds): string | undefined {
  const { name } = node;
  if (node.ready === 'Missing') return `node ${name} has not reported whether it is ready`;
  if (node.ready !== 'True') {
    const because = [node.readyReason, node.readyMessage].filter((text) => text !== '').join(': ');
    return `node ${name} is not ready (Ready=${node.ready}${because === '' ? '' : `, ${because}`})`;
  }
  const { leaseRenewedAt } = node;
  if (leaseRenewedAt === undefined) return `node ${name} says Ready, and its kubelet has no Lease`;
  const ageMs = bounds.now - leaseRenewedAt;
  if (ageMs > (bounds.staleAfterMs ?? Math.max(STALE_AFTER_MS, (node.leaseDurationMs ?? 0) * STALE_PART))) {
    return `node ${name} says Ready, but its kubelet renewed its Lease ${Math.round(ageMs / 1_000)} s ago`;
  }
  if (bounds.since !== undefined && leaseRenewedAt <= bounds.since) {
    return `node ${name} says Ready from before ${new Date(bounds.since).toISOString()}; its kubelet has not spoken since`;
  }
  return undefined;
}

const STALE_AFTER_MS = 25_000;

/** A kubelet renews each time a quarter of the duration is over: half of it is two renewals, and some time for the second. */
const STALE_PART = 0.625;

/** The view of one Node, with the renewal time and the duration of its Lease. */
export function toNodeView(node: NodeObject, leaseRenewedAt?: number, leaseDurationMs?: number): NodeView {
  const { metadata, spec, status } = node;
  const ready = status?.conditions?.find((condition) => condition.type === 'Ready');
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    bootId: status?.nodeInfo?.bootID ?? '',
    ready: ready?.status ?? 'Missing',
    readyReason: ready?.reason ?? '',
    readyMessage: ready?.message ?? '',
    heartbeatAt: parseTime(ready?.lastHeartbeatTime),
    leaseRenewedAt,
    leaseDurationMs,
    unschedulable: spec.unschedulable === true,
    cordonedBy: metadata.annotations?.[CORDONED_BY],
    isControlPlane: metadata.labels?.['node-role.kubernetes.io/control-plane'] !== undefined,
    internalIps: (status?.addresses ?? [])
      .filter((address) => address.type === 'InternalIP')
      .map((address) => address.address),
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '',
    osImage: status?.nodeInfo?.osImage ?? '',
    createdAt: parseTime(metadata.creationTimestamp),
    leaving: metadata.deletionTimestamp !== undefined,
  };
}
