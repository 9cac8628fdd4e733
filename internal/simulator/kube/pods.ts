import { type KubeObject, type PodObject, toTime } from '../../../pkg/kube/index.ts';
import type { SimMachine } from '../machine.ts';
import type { SimPod } from '../workloads.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, column, NAME_COLUMN, wide } from './columns.ts';
import { fieldOf, listOf, textOf } from './fields.ts';
import { type ApiReply, type ApiRequest, failure } from './request.ts';
import { conflict, type Resource, type Subresource } from './resource.ts';

const IMAGES: Readonly<Record<string, string>> = {
  'kube-apiserver': 'registry.k8s.io/kube-apiserver:v1.36.3',
  'kube-controller-manager': 'registry.k8s.io/kube-controller-manager:v1.36.3',
  'kube-scheduler': 'registry.k8s.io/kube-scheduler:v1.36.3',
  'kube-proxy': 'registry.k8s.io/kube-proxy:v1.36.3',
  coredns: 'registry.k8s.io/coredns/coredns:v1.14.1',
};

/** Every pod: the mirror pods of control planes and what workloads run. */
export function podObjects(world: World): PodObject[] {
  const { mirrors: deleted } = world.kubernetes.workloads;
  const mirrors = world
    .planes()
    .flatMap((machine) =>
      Object.entries(machine.podsReady).map(([app, ready]) =>
        mirrorObject(machine, app, { ready, times: deleted.get(`${app}-${machine.name}`) ?? 0 }),
      ),
    );
  return [...mirrors, ...world.kubernetes.workloads.pods.map((pod) => podObject(world, pod))];
}

function mirrorObject(
  machine: SimMachine,
  app: string,
  { ready, times }: { ready: boolean; times: number },
): PodObject {
  return {
    metadata: {
      name: `${app}-${machine.name}`,
      namespace: 'kube-system',
      // One that was deleted is another one.
      uid: `mirror-${app}-${machine.name}${times === 0 ? '' : `-${times}`}`,
      resourceVersion: '1',
      creationTimestamp: toTime(machine.node?.createdAt ?? 0),
      labels: { 'k8s-app': app, tier: 'control-plane' },
      annotations: { 'kubernetes.io/config.mirror': app },
    },
    spec: { nodeName: machine.name, ...specOf(app, { hostNetwork: true }) },
    status: {
      phase: 'Running',
      conditions: conditionsOf(ready),
      ...{ hostIP: machine.address, podIP: machine.address, podIPs: [{ ip: machine.address }] },
      containerStatuses: [
        {
          name: app,
          ...{ ready, started: ready, restartCount: restartsOf(machine, app), image: imageOf(app) },
          state: ready
            ? { running: { startedAt: toTime(machine.node?.createdAt ?? 0) } }
            : waiting('ContainerCreating'),
        },
      ],
    },
  };
}

/** How often a static pod was started again since the machine is there. */
function restartsOf({ plane }: SimMachine, app: string): number {
  const process =
    app === 'kube-apiserver'
      ? plane?.apiServer
      : app === 'kube-scheduler'
        ? plane?.scheduler
        : plane?.controllerManager;
  return Math.max(0, (process?.instance ?? 1) - 1);
}

const imageOf = (app: string): string => IMAGES[app] ?? `example.com/${app}:1.0.0`;

function specOf(app: string, more: object): object {
  const containers = [{ name: app, image: imageOf(app), resources: {} }];
  return { containers, restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...more };
}

function conditionsOf(ready: boolean) {
  const status = ready ? ('True' as const) : ('False' as const);
  return [
    { type: 'Ready', status },
    { type: 'ContainersReady', status },
    { type: 'Initialized', status: 'True' as const },
    { type: 'PodScheduled', status: 'True' as const },
  ];
}

// A state that says why a container does not run; the type of what is read knows only running ones.
const waiting = (reason: string): object => ({ waiting: { reason } });

function podObject(world: World, pod: SimPod): PodObject {
  const owner = pod.owner === 'Deployment' ? 'ReplicaSet' : pod.owner;
  const ready = world.kubernetes.workloads.isHealthy(world, pod);
  const machine = world.find(pod.node ?? '');
  return {
    metadata: {
      name: pod.name,
      namespace: pod.namespace,
      uid: pod.uid,
      resourceVersion: '1',
      creationTimestamp: toTime(pod.startedAt),
      labels: podLabels(pod.app),
      ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: pod.app, uid: `set-${pod.app}`, controller: true }],
      ...(pod.leavingAt === undefined ? {} : { deletionTimestamp: toTime(pod.leavingAt) }),
    },
    spec: {
      ...(pod.node === undefined ? {} : { nodeName: pod.node }),
      volumes: [{ name: 'token', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }],
      ...specOf(pod.app, {}),
    },
    status:
      machine === undefined
        ? { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] }
        : {
            phase: 'Running',
            conditions: conditionsOf(ready),
            startTime: toTime(pod.startedAt),
            ...addressesOf(world, pod, machine),
            containerStatuses: [
              {
                name: pod.app,
                ...{ ready, started: ready, restartCount: 0, image: imageOf(pod.app) },
                state: { running: { startedAt: toTime(pod.startedAt) } },
              },
            ],
          },
  };
}

function addressesOf(world: World, pod: SimPod, machine: SimMachine): object {
  const network = world.machines().indexOf(machine);
  const host = 2 + (Number(/\d+$/.exec(pod.uid)?.[0] ?? 0) % 250);
  const podIP = pod.owner === 'DaemonSet' ? machine.address : `10.244.${network}.${host}`;
  return { hostIP: machine.address, podIP, podIPs: [{ ip: podIP }] };
}

/** Labels of the pods of a workload, those of Talos where it is one of its own. */
export function podLabels(app: string): Record<string, string> {
  if (app === 'coredns') return { app, 'k8s-app': 'kube-dns' };
  return app === 'kube-proxy' ? { app, 'k8s-app': app } : { app };
}

const simulated = (world: World, { metadata }: KubeObject): SimPod | undefined =>
  world.kubernetes.workloads.pods.find((pod) => pod.uid === metadata.uid);

function evict(world: World, object: KubeObject, request: ApiRequest): ApiReply {
  const { deleteOptions } = (request.body ?? {}) as { deleteOptions?: { preconditions?: { uid?: string } } };
  const { uid } = deleteOptions?.preconditions ?? {};
  if (uid !== undefined && uid !== object.metadata.uid)
    return conflict(PODS, object.metadata.name, 'the UID in the precondition does not match the UID in record');
  const pod = simulated(world, object);
  const result = pod === undefined ? 'accepted' : world.kubernetes.workloads.evict(world, pod);
  if (result === 'accepted')
    return { status: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } };
  const { held, healthy, wanted } = result;
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
