import { type KubeObject, toTime } from '../../../pkg/kube/index.ts';
import type { SimDeployment } from '../workloads.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, column, NAME_COLUMN } from './columns.ts';
import { fieldOf } from './fields.ts';
import type { ApiReply } from './request.ts';
import { invalid, type Resource } from './resource.ts';

const BORN_AT = Date.UTC(2026, 0, 1);

function budgetObjects(world: World): KubeObject[] {
  const { workloads } = world.kubernetes;
  return workloads.deployments.flatMap((deployment) => {
    const { minAvailable, budget } = deployment;
    if (minAvailable === undefined) return [];
    const healthy = workloads.healthy(world, deployment);
    const metadata = {
      name: budget.name,
      namespace: deployment.namespace,
      uid: budget.uid,
      resourceVersion: '1',
      generation: budget.generation,
      creationTimestamp: toTime(budget.createdAt ?? BORN_AT),
    };
    const status = {
      disruptionsAllowed: workloads.allowed(world, deployment),
      currentHealthy: healthy,
      desiredHealthy: minAvailable,
      expectedPods: deployment.replicas,
      observedGeneration: budget.generation,
    };
    return [{ metadata, ...{ spec: { minAvailable, selector: { matchLabels: { app: deployment.name } } }, status } }];
  });
}

/** The Deployment whose pods a budget picks; budgets of anything else protect nothing here and are refused. */
function deploymentOf(world: World, object: KubeObject): SimDeployment | undefined {
  const app = fieldOf(object, 'spec.selector.matchLabels.app');
  return world.kubernetes.workloads.deployments.find(
    (each) => each.name === app && each.namespace === object.metadata.namespace,
  );
}

function take(world: World, object: KubeObject): ApiReply | undefined {
  const { name } = object.metadata;
  const deployment = deploymentOf(world, object);
  if (deployment === undefined) {
    const known = world.kubernetes.workloads.deployments.map((each) => `${each.namespace}/${each.name}`).join(', ');
    return invalid(
      BUDGETS,
      name,
      'spec.selector',
      `Invalid value: it has to be matchLabels app=NAME of one of ${known}`,
    );
  }
  const minimum = minimumOf(object, deployment.replicas);
  if (minimum === undefined) {
    const why = 'Invalid value: minAvailable or maxUnavailable has to be a whole number or a percentage';
    return invalid(BUDGETS, name, 'spec', why);
  }
  const isNew = deployment.minAvailable === undefined;
  if (!isNew && deployment.budget.name !== name) {
    const why = `Invalid value: the pods of ${deployment.name} have the budget ${deployment.budget.name} already, and a pod with two can never be evicted`;
    return invalid(BUDGETS, name, 'spec.selector', why);
  }
  deployment.minAvailable = minimum;
  deployment.budget = isNew
    ? { name, uid: object.metadata.uid, generation: 1, createdAt: world.clock.now() }
    : { ...deployment.budget, generation: deployment.budget.generation + 1 };
  return undefined;
}

function minimumOf(object: KubeObject, replicas: number): number | undefined {
  const minimum = countOf(fieldOf(object, 'spec.minAvailable'), replicas);
  if (minimum !== undefined) return minimum;
  const away = countOf(fieldOf(object, 'spec.maxUnavailable'), replicas);
  return away === undefined ? undefined : Math.max(0, replicas - away);
}

/** A number, or a percentage of the replicas, rounded up as Kubernetes does. */
function countOf(value: unknown, replicas: number): number | undefined {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  const percent = /^(\d{1,3})%$/.exec(typeof value === 'string' ? value : '')?.[1];
  return percent === undefined ? undefined : Math.ceil((replicas * Number(percent)) / 100);
}

/** PodDisruptionBudgets over the Deployments of the simulated cluster. */
export const BUDGETS: Resource = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  kind: 'PodDisruptionBudget',
  namespaced: true,
  shortNames: ['pdb'],
  columns: [
    NAME_COLUMN,
    column('Min Available', (object) => Number(fieldOf(object, 'spec.minAvailable'))),
    column('Max Unavailable', () => 'N/A'),
    column('Allowed Disruptions', (object) => Number(fieldOf(object, 'status.disruptionsAllowed'))),
    AGE_COLUMN,
  ],
  list: budgetObjects,
  create: take,
  update: (world, { after }) => take(world, after),
  remove(world, { object }) {
    const deployment = deploymentOf(world, object);
    if (deployment !== undefined) deployment.minAvailable = undefined;
    return undefined;
  },
};
