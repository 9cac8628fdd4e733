import { type KubeObject, parseTime, toTime, type WorkloadObject } from '../../../pkg/kube/index.ts';
import type { SimDeployment, SimPod } from '../workloads.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, column, NAME_COLUMN, wide } from './columns.ts';
import { fieldOf, listOf, textOf } from './fields.ts';
import { podLabels } from './pods.ts';
import type { Resource, Write } from './resource.ts';

const BORN_AT = Date.UTC(2026, 0, 1);
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/** The moment in the annotation with which a rollout is asked for. */
function restartedAt(object: KubeObject): number | undefined {
  const annotations = fieldOf(object, 'spec.template.metadata.annotations') as Record<string, string> | undefined;
  return parseTime(annotations?.[RESTARTED_AT]);
}

function templateOf(app: string, restarted: number | undefined): object {
  const annotations = restarted === undefined ? {} : { annotations: { [RESTARTED_AT]: toTime(restarted) } };
  return {
    metadata: { labels: podLabels(app), ...annotations },
    spec: { containers: [{ name: app, image: `example.com/${app}:1.0.0` }] },
  };
}

/** A Deployment with the state of its rollout. */
export function deploymentObject(world: World, deployment: SimDeployment): WorkloadObject {
  const { name, namespace, generation, replicas } = deployment;
  const pods = world.kubernetes.workloads.pods.filter((pod) => pod.app === name);
  const updated = pods.filter((pod) => pod.startedAt >= (deployment.restartedAt ?? 0) && !pod.leaving);
  const available = updated.filter((pod) => world.kubernetes.workloads.isHealthy(world, pod)).length;
  return {
    metadata: {
      name,
      namespace,
      uid: `deployment-${name}`,
      resourceVersion: String(generation),
      generation,
      creationTimestamp: toTime(BORN_AT),
      labels: podLabels(name),
    },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      strategy: { type: 'RollingUpdate' },
      template: templateOf(name, deployment.restartedAt),
    },
    status: {
      observedGeneration: generation,
      replicas: pods.length,
      updatedReplicas: updated.length,
      availableReplicas: available,
      ...{ readyReplicas: available, conditions: [availability(available >= replicas)] },
    },
  };
}

const availability = (isAvailable: boolean): object => ({
  type: 'Available',
  status: isAvailable ? 'True' : 'False',
  reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
});

function updateDeployment(world: World, { before, after }: Write): undefined {
  const deployment = world.kubernetes.workloads.deployments.find(({ name }) => name === before.metadata.name);
  const at = restartedAt(after);
  if (deployment === undefined || at === undefined || at === deployment.restartedAt) return;
  deployment.restartedAt = at;
  deployment.generation += 1;
  world.trace(`${deployment.name} restarted`);
}

const number = (object: KubeObject, path: string): number => Number(fieldOf(object, path) ?? 0);
const imagesOf = (object: KubeObject): string =>
  listOf(object, 'spec.template.spec.containers')
    .map((container) => textOf(container, 'image'))
    .join(',');
const containersOf = (object: KubeObject): string =>
  listOf(object, 'spec.template.spec.containers')
    .map((container) => textOf(container, 'name'))
    .join(',');
const selectorOf = (object: KubeObject): string =>
  Object.entries((fieldOf(object, 'spec.selector.matchLabels') ?? {}) as Record<string, string>)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
const WIDE = [wide('Containers', containersOf), wide('Images', imagesOf), wide('Selector', selectorOf)];

/** Deployments: those of the simulated cluster. A rollout can be asked for; the rest of a write is not taken up. */
export const DEPLOYMENTS: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  singular: 'deployment',
  kind: 'Deployment',
  namespaced: true,
  shortNames: ['deploy'],
  categories: ['all'],
  columns: [
    NAME_COLUMN,
    column('Ready', (object) => `${number(object, 'status.readyReplicas')}/${number(object, 'spec.replicas')}`),
    column('Up-to-date', (object) => number(object, 'status.updatedReplicas')),
    column('Available', (object) => number(object, 'status.availableReplicas')),
    AGE_COLUMN,
    ...WIDE,
  ],
  list: (world) => world.kubernetes.workloads.deployments.map((each) => deploymentObject(world, each)),
  update: updateDeployment,
};

function replicaSetObject(world: World, deployment: SimDeployment): KubeObject {
  const { metadata, spec, status } = deploymentObject(world, deployment);
  const { name, namespace = '' } = metadata;
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: metadata.uid, controller: true };
  const replicas = status?.replicas ?? 0;
  return {
    metadata: { ...metadata, namespace, uid: `set-${name}`, ownerReferences: [owner] },
    ...{
      spec: { replicas: spec.replicas, selector: spec.selector, template: spec.template },
      status: { replicas, readyReplicas: status?.availableReplicas, availableReplicas: status?.availableReplicas },
    },
  };
}

/** ReplicaSets: one for each Deployment, of the same name. */
export const REPLICA_SETS: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'replicasets',
  singular: 'replicaset',
  kind: 'ReplicaSet',
  namespaced: true,
  shortNames: ['rs'],
  categories: ['all'],
  columns: [
    NAME_COLUMN,
    column('Desired', (object) => number(object, 'spec.replicas')),
    column('Current', (object) => number(object, 'status.replicas')),
    column('Ready', (object) => number(object, 'status.readyReplicas')),
    AGE_COLUMN,
    ...WIDE,
  ],
  list: (world) => world.kubernetes.workloads.deployments.map((each) => replicaSetObject(world, each)),
};

function daemonSetObject(world: World, pods: readonly SimPod[]): WorkloadObject {
  const { daemonsRestartedAt } = world.kubernetes.workloads;
  const updated = pods.filter((pod) => pod.startedAt >= (daemonsRestartedAt ?? 0)).length;
  const ready = pods.filter((pod) => world.kubernetes.workloads.isHealthy(world, pod)).length;
  const generation = daemonsRestartedAt === undefined ? 1 : 2;
  return {
    metadata: {
      name: 'kube-proxy',
      namespace: 'kube-system',
      uid: 'set-kube-proxy',
      resourceVersion: '1',
      generation,
      creationTimestamp: toTime(BORN_AT),
      labels: podLabels('kube-proxy'),
    },
    spec: {
      updateStrategy: { type: 'RollingUpdate' },
      selector: { matchLabels: { app: 'kube-proxy' } },
      template: templateOf('kube-proxy', daemonsRestartedAt),
    },
    status: {
      observedGeneration: generation,
      desiredNumberScheduled: pods.length,
      updatedNumberScheduled: updated,
      numberAvailable: updated,
      ...{ currentNumberScheduled: pods.length, numberReady: ready, numberMisscheduled: 0 },
    },
  };
}

/** DaemonSets: kube-proxy alone. */
export const DAEMON_SETS: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'daemonsets',
  singular: 'daemonset',
  kind: 'DaemonSet',
  namespaced: true,
  shortNames: ['ds'],
  categories: ['all'],
  columns: [
    NAME_COLUMN,
    column('Desired', (object) => number(object, 'status.desiredNumberScheduled')),
    column('Current', (object) => number(object, 'status.currentNumberScheduled')),
    column('Ready', (object) => number(object, 'status.numberReady')),
    column('Up-to-date', (object) => number(object, 'status.updatedNumberScheduled')),
    column('Available', (object) => number(object, 'status.numberAvailable')),
    column('Node Selector', () => '<none>'),
    AGE_COLUMN,
    ...WIDE,
  ],
  list: (world) => [
    daemonSetObject(
      world,
      world.kubernetes.workloads.pods.filter((pod) => pod.app === 'kube-proxy'),
    ),
  ],
  update(world, { before, after }) {
    world.kubernetes.workloads.daemonsRestartedAt = restartedAt(after) ?? world.clock.now();
    world.trace(`${before.metadata.name} restarted`);
    return undefined;
  },
};
