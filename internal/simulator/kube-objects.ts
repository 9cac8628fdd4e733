import type { NodeObject, PodObject } from '../../pkg/kube/index.ts';
import { toMicroTime, toTime } from '../../pkg/kube/index.ts';
import type { SimMachine } from './machine.ts';
import type { SimDeployment, SimPod } from './workloads.ts';
import type { World } from './world.ts';

/** The Node of a machine as the API shows it. */
export function nodeObject(machine: SimMachine): NodeObject[] {
  const { node } = machine;
  if (node === undefined) return [];
  const labels: Record<string, string> = { 'kubernetes.io/hostname': machine.name };
  if (machine.role === 'controlplane') labels['node-role.kubernetes.io/control-plane'] = '';
  return [
    {
      metadata: {
        name: machine.name,
        uid: node.uid,
        resourceVersion: String(node.resourceVersion),
        creationTimestamp: toTime(node.createdAt),
        labels,
        annotations: { ...node.annotations },
      },
      spec: node.unschedulable ? { unschedulable: true } : {},
      status: {
        conditions: [{ type: 'Ready', status: node.ready, lastHeartbeatTime: toTime(node.leaseAt) }],
        addresses: [
          { type: 'InternalIP', address: machine.address },
          { type: 'Hostname', address: machine.name },
        ],
        nodeInfo: { bootID: node.bootId, kubeletVersion: 'v1.36.3', osImage: `Talos (v${machine.version})` },
      },
    },
  ];
}

/** The Lease of a kubelet. */
export function leaseObject(machine: SimMachine): object[] {
  const { node } = machine;
  if (node === undefined) return [];
  return [
    {
      metadata: {
        name: machine.name,
        namespace: 'kube-node-lease',
        uid: `lease-${node.uid}`,
        resourceVersion: String(node.leaseAt),
        creationTimestamp: toTime(node.createdAt),
      },
      spec: { holderIdentity: machine.name, leaseDurationSeconds: 40, renewTime: toMicroTime(node.leaseAt) },
    },
  ];
}

/** Every pod: the mirror pods of control planes and what workloads run. */
export function podObjects(world: World): PodObject[] {
  const mirrors = world.planes().flatMap((machine) =>
    Object.entries(machine.podsReady).map(
      ([app, ready]): PodObject => ({
        metadata: {
          name: `${app}-${machine.name}`,
          namespace: 'kube-system',
          uid: `mirror-${app}-${machine.name}`,
          resourceVersion: '1',
          creationTimestamp: toTime(machine.node?.createdAt ?? 0),
          labels: { 'k8s-app': app, tier: 'control-plane' },
          annotations: { 'kubernetes.io/config.mirror': app },
        },
        spec: { nodeName: machine.name },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
      }),
    ),
  );
  return [...mirrors, ...world.kubernetes.workloads.pods.map((pod) => podObject(world, pod))];
}

function podObject(world: World, pod: SimPod): PodObject {
  const owner = pod.owner === 'Deployment' ? 'ReplicaSet' : pod.owner;
  const isRunning = world.kubernetes.workloads.isHealthy(world, pod);
  return {
    metadata: {
      name: pod.name,
      namespace: pod.namespace,
      uid: pod.uid,
      resourceVersion: '1',
      creationTimestamp: toTime(pod.startedAt),
      labels: { app: pod.app },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: pod.app, uid: `set-${pod.app}`, controller: true }],
      ...(pod.leaving ? { deletionTimestamp: toTime(world.clock.now()) } : {}),
    },
    spec: {
      ...(pod.node === undefined ? {} : { nodeName: pod.node }),
      volumes: [{ name: 'token', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }],
    },
    status: {
      phase: pod.node === undefined ? 'Pending' : 'Running',
      conditions: [{ type: 'Ready', status: isRunning ? 'True' : 'False' }],
      containerStatuses:
        pod.node === undefined ? [] : [{ name: 'main', state: { running: { startedAt: toTime(pod.startedAt) } } }],
    },
  };
}

/** A Deployment with the state of its rollout. */
export function deploymentObject(world: World, deployment: SimDeployment): object {
  const pods = world.kubernetes.workloads.pods.filter((pod) => pod.app === deployment.name);
  const updated = pods.filter((pod) => pod.startedAt >= (deployment.restartedAt ?? 0) && !pod.leaving);
  const available = updated.filter((pod) => world.kubernetes.workloads.isHealthy(world, pod));
  return {
    metadata: {
      name: deployment.name,
      namespace: deployment.namespace,
      uid: `deployment-${deployment.name}`,
      resourceVersion: String(deployment.generation),
      generation: deployment.generation,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      replicas: deployment.replicas,
      selector: { matchLabels: { app: deployment.name } },
      template: { metadata: { labels: { app: deployment.name } } },
    },
    status: {
      observedGeneration: deployment.generation,
      replicas: pods.length,
      updatedReplicas: updated.length,
      availableReplicas: available.length,
    },
  };
}

/** The budgets of a namespace. */
export function budgetObjects(world: World, namespace: string): object[] {
  return world.kubernetes.workloads.deployments
    .filter((each) => each.namespace === namespace && each.minAvailable !== undefined)
    .map((deployment) => {
      const allowed = world.kubernetes.workloads.allowed(world, deployment);
      return {
        metadata: {
          name: deployment.name,
          namespace,
          uid: `budget-${deployment.name}`,
          resourceVersion: '1',
          generation: 1,
          creationTimestamp: '2026-01-01T00:00:00Z',
        },
        spec: { minAvailable: deployment.minAvailable, selector: { matchLabels: { app: deployment.name } } },
        status: {
          disruptionsAllowed: allowed,
          currentHealthy: allowed + (deployment.minAvailable ?? 0),
          desiredHealthy: deployment.minAvailable ?? 0,
          observedGeneration: 1,
        },
      };
    });
}
