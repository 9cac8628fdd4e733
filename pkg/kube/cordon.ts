import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { isKubeError } from './errors.ts';
import { CORDONED_BY, readNode } from './nodes.ts';
import type { NodeObject } from './objects.ts';

/** Which node, and in whose name: an operation's name or UID, the same at every call of one operation. */
export interface CordonRequest {
  readonly node: string;
  readonly owner: string;
}

/**
 * - `cordoned`: unschedulable, and it is ours to undo (now or from an earlier call by the same owner).
 * - `cordoned-by-other`: somebody else had cordoned it; nothing was changed, and it must not be undone by us.
 */
export type CordonResult = 'cordoned' | 'cordoned-by-other';

/**
 * - `uncordoned`: schedulable again.
 * - `not-ours`: it is as it was; another owner cordoned it, or a person did.
 * - `gone`: there is no such Node.
 */
export type UncordonResult = 'uncordoned' | 'not-ours' | 'gone';

/** So often is a Node read again that changed between read and write (its kubelet writes to it as well). */
const TRIES = 5;

/** Makes a node unschedulable and notes who did, in one write against the version read. KubeError otherwise. */
export async function cordonNode(
  client: KubeClient,
  request: CordonRequest,
  options: CallOptions = {},
): Promise<CordonResult> {
  return await onLatest(client, request.node, options, async (node) => {
    const owner = node.metadata.annotations?.[CORDONED_BY];
    if (node.spec.unschedulable === true) return owner === request.owner ? 'cordoned' : 'cordoned-by-other';
    await patchNode(client, node, { doing: 'cordon', annotation: request.owner, unschedulable: true }, options);
    return 'cordoned';
  });
}

/** Makes a node schedulable again if this owner had cordoned it. May be called again at any time. */
export async function uncordonNode(
  client: KubeClient,
  request: CordonRequest,
  options: CallOptions = {},
): Promise<UncordonResult> {
  try {
    return await onLatest(client, request.node, options, async (node) => {
      if (node.metadata.annotations?.[CORDONED_BY] !== request.owner) return 'not-ours';
      await patchNode(client, node, { doing: 'uncordon', annotation: null, unschedulable: null }, options);
      return 'uncordoned';
    });
  } catch (error) {
    if (isKubeError(error, 'not-found')) return 'gone';
    throw error;
  }
}

async function onLatest<T>(
  client: KubeClient,
  name: string,
  options: CallOptions,
  act: (node: NodeObject) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act(await readNode(client, name, options));
    } catch (error) {
      // A conflict means that nothing was written; what to write must be decided again.
      if (!isKubeError(error, 'conflict') || attempt === TRIES) throw error;
    }
  }
}

async function patchNode(
  client: KubeClient,
  node: NodeObject,
  to: { readonly doing: string; readonly annotation: string | null; readonly unschedulable: true | null },
  options: CallOptions,
): Promise<void> {
  const { name, resourceVersion } = node.metadata;
  await client.request({
    method: 'PATCH',
    path: pathOf('api', 'v1', 'nodes', name),
    // A resource version is never given out twice, so it also excludes a new node of the same name.
    body: {
      metadata: { resourceVersion, annotations: { [CORDONED_BY]: to.annotation } },
      spec: { unschedulable: to.unschedulable },
    },
    contentType: 'application/merge-patch+json',
    doing: `${to.doing} the node ${name}`,
    ...options,
  });
}
