import {
  isKubeError,
  type KubeClient,
  type KubeObject,
  listAll,
  pathOf,
  toMicroTime,
  toTime,
} from '../../../pkg/kube/index.ts';

interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly name: string }[] };
  readonly status?: { readonly phase?: string };
}

/** What a cluster without machines lacks: something that places pods, says that they run, and ends them. */
export interface StandInKubelet {
  [Symbol.asyncDispose](): Promise<void>;
}

/** Makes a ready Node with a Lease of now and tends every pod of the cluster as if it ran there. */
export async function startStandInKubelet(client: KubeClient, node: string): Promise<StandInKubelet> {
  await createNode(client, node);
  const stop = new AbortController();
  const tending = tend(client, node, stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await tending;
    },
  };
}

async function createNode(client: KubeClient, name: string): Promise<void> {
  const now = Date.now();
  await client.request({
    method: 'POST',
    path: pathOf('api', 'v1', 'nodes'),
    body: { metadata: { name } },
    contentType: 'application/json',
    doing: `create the node ${name}`,
  });
  await client.request({
    method: 'PATCH',
    path: `${pathOf('api', 'v1', 'nodes', name)}/status`,
    body: {
      status: {
        conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: toTime(now) }],
        addresses: [{ type: 'InternalIP', address: '10.5.0.2' }],
        nodeInfo: { ...NODE_INFO, bootID: `boot-of-${name}` },
      },
    },
    contentType: 'application/merge-patch+json',
    doing: `report the node ${name}`,
  });
  await client.request({
    method: 'POST',
    path: pathOf('apis', 'coordination.k8s.io', 'v1', 'namespaces', 'kube-node-lease', 'leases'),
    body: { metadata: { name }, spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: toMicroTime(now) } },
    contentType: 'application/json',
    doing: `create the Lease of the node ${name}`,
  });
}

/** A Node's report is refused without any of these. */
const NODE_INFO = {
  architecture: 'amd64',
  containerRuntimeVersion: 'none://0',
  kernelVersion: '6',
  kubeProxyVersion: '',
  kubeletVersion: 'v1.37.2',
  machineID: 'm',
  operatingSystem: 'linux',
  osImage: 'none',
  systemUUID: 's',
};

async function tend(client: KubeClient, node: string, signal: AbortSignal): Promise<void> {
  const path = pathOf('api', 'v1', 'pods');
  const list = await listAll<Pod>(client, { path, doing: 'list the pods' });
  for (const pod of list.items) await step(client, pod, node);
  const events = client.watch<Pod>({ path, resourceVersion: list.resourceVersion, doing: 'watch the pods', signal });
  for await (const { type, object } of events) {
    if (type === 'ADDED' || type === 'MODIFIED') await step(client, object, node);
  }
}

/** Brings one pod one step further; each step shows as an event that leads to the next. */
async function step(client: KubeClient, pod: Pod, node: string): Promise<void> {
  const path = pathOf('api', 'v1', 'namespaces', pod.metadata.namespace ?? '', 'pods', pod.metadata.name);
  try {
    if (pod.metadata.deletionTimestamp !== undefined) {
      const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } };
      await client.request({ method: 'DELETE', path, body, contentType: 'application/json', doing: 'end a pod' });
    } else if (pod.spec.nodeName === undefined) {
      const body = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: pod.metadata.name },
        target: { apiVersion: 'v1', kind: 'Node', name: node },
      };
      await client.request({
        method: 'POST',
        path: `${path}/binding`,
        body,
        contentType: 'application/json',
        doing: 'place a pod',
      });
    } else if (pod.status?.phase === 'Pending') {
      const contentType = 'application/merge-patch+json';
      await client.request({
        method: 'PATCH',
        path: `${path}/status`,
        body: running(pod),
        contentType,
        doing: 'run a pod',
      });
    }
  } catch (error) {
    // Somebody else was faster; the next event tells how it is now.
    if (!isKubeError(error, 'not-found', 'conflict')) throw error;
  }
}

function running(pod: Pod) {
  const at = toTime(Date.now());
  return {
    status: {
      phase: 'Running',
      startTime: at,
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: at },
        { type: 'ContainersReady', status: 'True', lastTransitionTime: at },
      ],
      containerStatuses: pod.spec.containers.map(({ name }) => ({
        name,
        image: 'none',
        imageID: 'none',
        ready: true,
        started: true,
        restartCount: 0,
        state: { running: { startedAt: at } },
      })),
    },
  };
}
