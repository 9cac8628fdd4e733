import { parseTime } from '../../pkg/kube/index.ts';
import { budgetObjects, deploymentObject, leaseObject, nodeObject, podObjects } from './kube-objects.ts';
import { pemOf } from './kubernetes.ts';
import type { SimMachine } from './machine.ts';
import { isApiServerReady, reachesEtcd } from './transitions.ts';
import type { World } from './world.ts';

/** One request as an API server sees it, its user authenticated already. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** What it answers: JSON, or text for health checks. */
export interface ApiReply {
  readonly status: number;
  readonly body: unknown;
}

type Handler = (world: World, request: ApiRequest, names: Readonly<Record<string, string>>) => ApiReply;

/** Answers a request as the API server of `machine` does. Storage is etcd: without it everything but the checks is a 500. */
export function answer(world: World, machine: SimMachine, request: ApiRequest): ApiReply {
  if (request.path === '/readyz' || request.path === '/livez') return health(world, machine, request.path);
  if (!reachesEtcd(world, machine)) return failure(500, 'InternalError', 'etcdserver: request timed out');
  for (const [pattern, answers] of ROUTES) {
    const match = pattern.exec(request.path);
    if (match === null) continue;
    const act = answers[request.method];
    if (act === undefined) return failure(405, 'MethodNotAllowed', `${request.method} ${request.path}`);
    return act(world, request, match.groups ?? {});
  }
  return failure(404, 'NotFound', `the server could not find the requested resource: ${request.path}`);
}

function health(world: World, machine: SimMachine, path: string): ApiReply {
  const ok = isApiServerReady(world, machine);
  const name = path.slice(1);
  const text = ok
    ? `[+]ping ok\n[+]etcd ok\n${name} check passed\n`
    : `[+]ping ok\n[-]etcd failed: reason withheld\n${name} check failed\n`;
  return { status: ok ? 200 : 500, body: text };
}

const list = (items: readonly unknown[]): ApiReply => ({
  status: 200,
  body: { metadata: { resourceVersion: '1' }, items },
});

/** A Status in the words of Kubernetes. */
export function failure(status: number, reason: string, message: string, causes: readonly object[] = []): ApiReply {
  return { status, body: { kind: 'Status', status: 'Failure', reason, message, code: status, details: { causes } } };
}

const found = (object: unknown, name: string): ApiReply =>
  object === undefined ? failure(404, 'NotFound', `"${name}" not found`) : { status: 200, body: object };

const patchNode: Handler = (world, request, { name = '' }) => {
  const node = world.find(name)?.node;
  if (node === undefined) return failure(404, 'NotFound', `nodes "${name}" not found`);
  const { metadata = {}, spec = {} } = request.body as {
    metadata?: { resourceVersion?: string; annotations?: Record<string, string | null> };
    spec?: { unschedulable?: boolean | null };
  };
  if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== String(node.resourceVersion)) {
    return failure(409, 'Conflict', 'the object has been modified');
  }
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    if (value === null) delete node.annotations[key];
    else node.annotations[key] = value;
  }
  if (spec.unschedulable !== undefined) node.unschedulable = spec.unschedulable === true;
  node.resourceVersion += 1;
  world.trace(`${name} ${node.unschedulable ? 'cordoned' : 'schedulable'}`);
  return { status: 200, body: {} };
};

const evict: Handler = (world, request, { namespace = '', name = '' }) => {
  const { pods } = world.kubernetes.workloads;
  const pod = pods.find((each) => each.namespace === namespace && each.name === name);
  if (pod === undefined) return failure(404, 'NotFound', `pods "${name}" not found`);
  const { uid } =
    (request.body as { deleteOptions?: { preconditions?: { uid?: string } } }).deleteOptions?.preconditions ?? {};
  if (uid !== undefined && uid !== pod.uid)
    return failure(409, 'Conflict', 'the UID in the precondition does not match');
  const result = world.kubernetes.workloads.evict(world, pod);
  if (result === 'accepted') return { status: 201, body: {} };
  const message = `The disruption budget ${result.held} needs more healthy pods`;
  return failure(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", [
    { reason: 'DisruptionBudget', message },
  ]);
};

const readMap: Handler = (world, _request, { name = '' }) => {
  const map = world.kubernetes.authentication;
  if (name !== 'extension-apiserver-authentication' || map === undefined)
    return failure(404, 'NotFound', `configmaps "${name}" not found`);
  return {
    status: 200,
    body: {
      metadata: {
        name,
        namespace: 'kube-system',
        uid: map.uid,
        resourceVersion: '1',
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      data: {
        'requestheader-client-ca-file': pemOf(map.requestheader),
        'client-ca-file': pemOf(map.client),
      },
    },
  };
};

const deleteMap: Handler = (world, request, { name = '' }) => {
  const map = world.kubernetes.authentication;
  if (name !== 'extension-apiserver-authentication' || map === undefined)
    return failure(404, 'NotFound', `configmaps "${name}" not found`);
  const { uid } = (request.body as { preconditions?: { uid?: string } } | undefined)?.preconditions ?? {};
  if (uid !== undefined && uid !== map.uid)
    return failure(409, 'Conflict', 'the UID in the precondition does not match');
  world.kubernetes.deleteAuthentication(world);
  return { status: 200, body: {} };
};

const rootCaMaps: Handler = (world) =>
  list(
    [...world.kubernetes.rootCas].map(([namespace, pem]) => ({
      metadata: {
        name: 'kube-root-ca.crt',
        namespace,
        uid: `root-${namespace}`,
        resourceVersion: '1',
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      data: { 'ca.crt': pem },
    })),
  );

const deploymentOf = (world: World, names: Readonly<Record<string, string>>) =>
  world.kubernetes.workloads.deployments.find((each) => each.namespace === names.namespace && each.name === names.name);

const patchDeployment: Handler = (world, request, names) => {
  const deployment = deploymentOf(world, names);
  if (deployment === undefined) return failure(404, 'NotFound', `deployments "${names.name}" not found`);
  const at = restartedAt(request);
  if (at !== undefined && at !== deployment.restartedAt) {
    deployment.restartedAt = at;
    deployment.generation += 1;
    world.trace(`${deployment.name} restarted`);
  }
  return { status: 200, body: deploymentObject(world, deployment) };
};

/** The moment in the annotation with which a rollout is asked for. */
function restartedAt(request: ApiRequest): number | undefined {
  const { spec } = request.body as { spec?: { template?: { metadata?: { annotations?: Record<string, string> } } } };
  return parseTime(spec?.template?.metadata?.annotations?.['kubectl.kubernetes.io/restartedAt']);
}

function daemonSetObject(world: World, { namespace = '', name = '' }: Readonly<Record<string, string>>): object {
  const { pods, daemonsRestartedAt = 0 } = world.kubernetes.workloads;
  const mine = pods.filter((pod) => pod.app === name);
  const updated = mine.filter((pod) => pod.startedAt >= daemonsRestartedAt).length;
  return {
    metadata: { ...META, name, namespace, generation: 1 },
    spec: { updateStrategy: { type: 'RollingUpdate' }, template: { metadata: { labels: { app: name } } } },
    status: {
      observedGeneration: 1,
      desiredNumberScheduled: mine.length,
      updatedNumberScheduled: updated,
      numberAvailable: updated,
    },
  };
}

const META = { uid: 'uid', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

const ROUTES: readonly (readonly [RegExp, Readonly<Record<string, Handler>>])[] = [
  [/^\/api\/v1\/nodes$/, { GET: (world) => list(world.machines().flatMap(nodeObject)) }],
  [
    /^\/api\/v1\/nodes\/(?<name>[^/]+)$/,
    {
      GET: (world, _request, { name = '' }) => {
        const machine = world.find(name);
        return found(machine === undefined ? undefined : nodeObject(machine)[0], name);
      },
      PATCH: patchNode,
    },
  ],
  [
    /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases$/,
    { GET: (world) => list(world.machines().flatMap(leaseObject)) },
  ],
  [/^\/api\/v1\/pods$/, { GET: (world, { query }) => list(selected(podObjects(world), query)) }],
  [
    /^\/api\/v1\/namespaces\/(?<namespace>[^/]+)\/pods$/,
    {
      GET: (world, _request, { namespace }) =>
        list(podObjects(world).filter((pod) => pod.metadata.namespace === namespace)),
    },
  ],
  [/^\/api\/v1\/namespaces\/(?<namespace>[^/]+)\/pods\/(?<name>[^/]+)\/eviction$/, { POST: evict }],
  [
    /^\/api\/v1\/namespaces$/,
    { GET: (world) => list([...world.kubernetes.rootCas.keys()].map((name) => ({ metadata: { ...META, name } }))) },
  ],
  [
    /^\/api\/v1\/namespaces\/default$/,
    { GET: () => ({ status: 200, body: { metadata: { ...META, name: 'default' } } }) },
  ],
  [/^\/api\/v1\/configmaps$/, { GET: rootCaMaps }],
  [/^\/api\/v1\/namespaces\/kube-system\/configmaps\/(?<name>[^/]+)$/, { GET: readMap, DELETE: deleteMap }],
  [
    /^\/apis\/apps\/v1\/replicasets$/,
    {
      GET: (world) =>
        list(
          world.kubernetes.workloads.deployments.map(({ name, namespace }) => ({
            metadata: {
              ...META,
              name,
              namespace,
              uid: `set-${name}`,
              ownerReferences: [
                { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: `deployment-${name}`, controller: true },
              ],
            },
          })),
        ),
    },
  ],
  [
    /^\/apis\/apps\/v1\/namespaces\/(?<namespace>[^/]+)\/deployments\/(?<name>[^/]+)$/,
    {
      GET: (world, _request, names) => {
        const deployment = deploymentOf(world, names);
        return found(deployment === undefined ? undefined : deploymentObject(world, deployment), names.name ?? '');
      },
      PATCH: patchDeployment,
    },
  ],
  [
    /^\/apis\/apps\/v1\/namespaces\/(?<namespace>[^/]+)\/daemonsets\/(?<name>[^/]+)$/,
    {
      GET: (world, _request, names) => ({ status: 200, body: daemonSetObject(world, names) }),
      PATCH: (world, request, names) => {
        world.kubernetes.workloads.daemonsRestartedAt = restartedAt(request) ?? world.clock.now();
        world.trace(`${names.name} restarted`);
        return { status: 200, body: daemonSetObject(world, names) };
      },
    },
  ],
  [
    /^\/apis\/policy\/v1\/namespaces\/(?<namespace>[^/]+)\/poddisruptionbudgets$/,
    { GET: (world, _request, { namespace = '' }) => list(budgetObjects(world, namespace)) },
  ],
];

function selected(pods: ReturnType<typeof podObjects>, query: ApiRequest['query']): typeof pods {
  const wanted = /^spec\.nodeName=(.+)$/.exec(String(query.fieldSelector ?? ''))?.[1];
  return wanted === undefined ? pods : pods.filter((pod) => pod.spec.nodeName === wanted);
}
