import { type KubeObject, type PodObject, toTime } from '../../../pkg/kube/index.ts';
import type { Running, SimMachine } from '../machine.ts';
import type { SimPod } from '../workloads.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, column, NAME_COLUMN, wide } from './columns.ts';
import { fieldOf, listOf, textOf } from './fields.ts';
import { type ApiReply, type ApiRequest, failure } from './request.ts';
import { conflict, type Resource, type Subresource } from './resource.ts';
import { frozen, once, sharedByAll } from './shared.ts';
import { isDryRun, saysDryRun } from './verbs.ts';

const IMAGES: Readonly<Record<string, string>> = {
  'kube-apiserver': 'registry.k8s.io/kube-apiserver:v1.36.3',
  'kube-controller-manager': 'registry.k8s.io/kube-controller-manager:v1.36.3',
  'kube-scheduler': 'registry.k8s.io/kube-scheduler:v1.36.3',
  'kube-proxy': 'registry.k8s.io/kube-proxy:v1.36.3',
  coredns: 'registry.k8s.io/coredns/coredns:v1.14.1',
};

/** Every pod: the mirror pods of control planes and what workloads run. */
export function podObjects(world: World): PodObject[] {
  const pods: PodObject[] = [];
  for (const machine of world.planes()) {
    for (const app in machine.podsReady) pods.push(mirrorObject(world, machine, app));
  }
  for (const pod of world.kubernetes.workloads.pods) pods.push(podObject(world, pod));
  return pods;
}

/** The mirror pod of a static pod. */
function mirrorObject(world: World, machine: SimMachine, app: string): PodObject {
  const process = processOf(machine, app);
  const { mirrors } = world.kubernetes.workloads;
  return mirrorOf(process ?? machine, {
    app,
    machine: machine.name,
    address: machine.address,
    ready: machine.podsReady[app] === true,
    createdAt: machine.node?.createdAt ?? 0,
    restarts: Math.max(0, (process?.instance ?? 1) - 1),
    deletions: mirrors.size === 0 ? 0 : (mirrors.get(`${app}-${machine.name}`) ?? 0),
  });
}

interface MirrorFacts {
  readonly app: string;
  readonly machine: string;
  readonly address: string;
  readonly ready: boolean;
  readonly createdAt: number;
  /** How often it was started again since the machine is there. */
  readonly restarts: number;
  readonly deletions: number;
}

const mirrorOf = sharedByAll(
  ({ app, machine, address, ready, createdAt, restarts, deletions }: MirrorFacts): PodObject => ({
    metadata: {
      name: `${app}-${machine}`,
      namespace: 'kube-system',
      // One that was deleted is another one.
      uid: `mirror-${app}-${machine}${deletions === 0 ? '' : `-${deletions}`}`,
      resourceVersion: '1',
      creationTimestamp: toTime(createdAt),
      labels: { 'k8s-app': app, tier: 'control-plane' },
      annotations: { 'kubernetes.io/config.mirror': app },
    },
    spec: { nodeName: machine, ...specOf(app, { hostNetwork: true }) },
    status: {
      phase: 'Running',
      conditions: conditionsOf(ready),
      ...{ hostIP: address, podIP: address, podIPs: [{ ip: address }] },
      containerStatuses: [
        {
          name: app,
          ...{ ready, started: ready, restartCount: restarts, image: imageOf(app) },
          state: ready ? { running: { startedAt: toTime(createdAt) } } : waiting('ContainerCreating'),
        },
      ],
    },
  }),
);

/** The process of a static pod. */
function processOf({ plane }: SimMachine, app: string): Running | undefined {
  if (app === 'kube-apiserver') return plane?.apiServer;
  return app === 'kube-scheduler' ? plane?.scheduler : plane?.controllerManager;
}

const imageOf = (app: string): string => IMAGES[app] ?? `example.com/${app}:1.0.0`;

function specOf(app: string, more: object): object {
  return { containers: containersOf(app), restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...more };
}

const containersOf = once((app) => [{ name: app, image: imageOf(app), resources: {} }]);

const conditionsOf = (ready: boolean) => (ready ? READY : UNREADY);

function conditions(status: 'True' | 'False') {
  return frozen([
    { type: 'Ready', status },
    { type: 'ContainersReady', status },
    { type: 'Initialized', status: 'True' as const },
    { type: 'PodScheduled', status: 'True' as const },
  ]);
}

const READY = conditions('True');
const UNREADY = conditions('False');

// A state that says why a container does not run; the type of what is read knows only running ones.
const waiting = (reason: string): object => ({ waiting: { reason } });

/** A pod of a workload. */
function podObject(world: World, pod: SimPod): PodObject {
  const { namespace, name, uid, app, owner, node, startedAt, leavingAt } = pod;
  const machine = world.find(node ?? '');
  return podOf(pod, {
    namespace,
    name,
    uid,
    app,
    owner,
    node,
    startedAt,
    leavingAt,
    ready: world.kubernetes.workloads.isHealthy(world, pod),
    network: machine === undefined ? 0 : world.machines().indexOf(machine),
    hostIP: machine?.address,
  });
}

interface PodFacts extends Omit<SimPod, 'leaving' | 'leavingAt'> {
  readonly leavingAt: number | undefined;
  readonly ready: boolean;
  /** Number of its machine's pod network. */
  readonly network: number;
  /** Address of its machine; undefined where it runs on none. */
  readonly hostIP: string | undefined;
}

const podOf = sharedByAll((pod: PodFacts): PodObject => {
  const owner = pod.owner === 'Deployment' ? 'ReplicaSet' : pod.owner;
  return {
    metadata: {
      name: pod.name,
      namespace: pod.namespace,
      uid: pod.uid,
      resourceVersion: '1',
      creationTimestamp: toTime(pod.startedAt),
      labels: labelsOf(pod.app),
      ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: pod.app, uid: `set-${pod.app}`, controller: true }],
      ...(pod.leavingAt === undefined ? {} : { deletionTimestamp: toTime(pod.leavingAt) }),
    },
    spec: {
      ...(pod.node === undefined ? {} : { nodeName: pod.node }),
      volumes: VOLUMES,
      ...specOf(pod.app, {}),
    },
    status: podStatus(pod),
  };
});

function podStatus(pod: PodFacts): NonNullable<PodObject['status']> & object {
  const { hostIP, ready } = pod;
  if (hostIP === undefined) {
    return { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] };
  }
  const startedAt = toTime(pod.startedAt);
  return {
    phase: 'Running',
    conditions: conditionsOf(ready),
    startTime: startedAt,
    ...addressesOf(pod, hostIP),
    containerStatuses: [
      {
        name: pod.app,
        ...{ ready, started: ready, restartCount: 0, image: imageOf(pod.app) },
        state: { running: { startedAt } },
      },
    ],
  };
}

function addressesOf({ uid, owner, network }: PodFacts, hostIP: string): object {
  const host = 2 + (Number(/\d+$/.exec(uid)?.[0] ?? 0) % 250);
  const podIP = owner === 'DaemonSet' ? hostIP : `10.244.${network}.${host}`;
  return { hostIP, podIP, podIPs: [{ ip: podIP }] };
}

const VOLUMES = frozen([{ name: 'token', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }]);

/** Labels of the pods of a workload, those of Talos where it is one of its own. */
export function podLabels(app: string): Record<string, string> {
  if (app === 'coredns') return { app, 'k8s-app': 'kube-dns' };
  return app === 'kube-proxy' ? { app, 'k8s-app': app } : { app };
}

const labelsOf = once(podLabels);

const simulated = (world: World, { metadata }: KubeObject): SimPod | undefined =>
  world.kubernetes.workloads.pods.find((pod) => pod.uid === metadata.uid);

interface EvictionOptions {
  readonly preconditions?: { readonly uid?: string };
  readonly dryRun?: unknown;
}

function evict(world: World, object: KubeObject, request: ApiRequest): ApiReply {
  const { deleteOptions = {} } = (request.body ?? {}) as { deleteOptions?: EvictionOptions };
  const { uid } = deleteOptions.preconditions ?? {};
  if (uid !== undefined && uid !== object.metadata.uid)
    return conflict(PODS, object.metadata.name, 'the UID in the precondition does not match the UID in record');
  const { workloads } = world.kubernetes;
  const pod = simulated(world, object);
  const refused = pod === undefined ? undefined : workloads.held(world, pod);
  if (refused === undefined) {
    if (pod !== undefined && !isDryRun(request) && !saysDryRun(deleteOptions)) workloads.evict(world, pod);
    return { status: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } };
  }
  const { held, healthy, wanted } = refused;
  const message = `The disruption budget ${held} needs ${wanted} healthy pods and has ${healthy} currently`;
  const causes = [{ reason: 'DisruptionBudget', message }];
  return failure(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes,
  });
}

const EVICTION: Subresource = { kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'], serve: evict };

function readyCount(object: KubeObject): string {
  const containers = listOf(object, 'spec.containers').length;
  return `${listOf(object, 'status.containerStatuses').filter(({ ready }) => ready === true).length}/${containers}`;
}

function statusText(object: KubeObject): string {
  if (object.metadata.deletionTimestamp !== undefined) return 'Terminating';
  const reason = listOf(object, 'status.containerStatuses')
    .map((status) => textOf(status, 'state.waiting.reason'))
    .find((text) => text !== '');
  return reason ?? textOf(object, 'status.phase');
}

/** Pods. They come and go with their workloads; nobody else can create one. */
export const PODS: Resource = {
  group: '',
  version: 'v1',
  plural: 'pods',
  singular: 'pod',
  kind: 'Pod',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  fields: ['spec.nodeName', 'spec.restartPolicy', 'status.phase', 'status.podIP'],
  columns: [
    NAME_COLUMN,
    column('Ready', readyCount),
    column('Status', statusText),
    column('Restarts', (object) => Number(fieldOf(listOf(object, 'status.containerStatuses')[0], 'restartCount') ?? 0)),
    AGE_COLUMN,
    wide('IP', (object) => textOf(object, 'status.podIP') || '<none>'),
    wide('Node', (object) => textOf(object, 'spec.nodeName') || '<none>'),
    wide('Nominated Node', () => '<none>'),
    wide('Readiness Gates', () => '<none>'),
  ],
  list: podObjects,
  remove(world, { object, force }) {
    const pod = simulated(world, object);
    const { workloads } = world.kubernetes;
    const { name } = object.metadata;
    // A mirror pod only shows what a kubelet runs from a file: it is there again at once.
    if (pod === undefined) workloads.mirrors.set(name, (workloads.mirrors.get(name) ?? 0) + 1);
    else workloads.delete(world, pod, { force });
    return undefined;
  },
  subresources: { eviction: EVICTION },
};
