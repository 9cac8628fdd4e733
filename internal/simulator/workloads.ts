import type { SimMachine } from './machine.ts';
import { draw } from './timing.ts';
import type { World } from './world.ts';

/** One pod that is no static pod. */
export interface SimPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly app: string;
  readonly owner: 'Deployment' | 'DaemonSet';
  /** Machine that it runs on; undefined while no machine takes it. */
  node: string | undefined;
  startedAt: number;
  leaving: boolean;
  /** When its end began; milliseconds since the epoch. */
  leavingAt?: number;
}

/** The PodDisruptionBudget of a Deployment as an object; it is there while `minAvailable` is. */
export interface BudgetState {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Undefined for one that is as old as the cluster; milliseconds since the epoch. */
  readonly createdAt: number | undefined;
}

/** A Deployment with its budget. */
export interface SimDeployment {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** Pods that must stay up; undefined without a budget. */
  minAvailable: number | undefined;
  budget: BudgetState;
  readonly on: 'controlplane' | 'worker' | 'any';
  generation: number;
  restartedAt: number | undefined;
}

/** Pods and what keeps them alive. */
export interface Workloads {
  readonly pods: SimPod[];
  readonly deployments: SimDeployment[];
  /** When the DaemonSet was last asked for a new rollout. */
  daemonsRestartedAt: number | undefined;
  /** How often the mirror pod of that name was deleted. */
  readonly mirrors: Map<string, number>;
  begin(world: World): void;
  /** Replaces what is missing and goes on with rollouts. */
  control(world: World): void;
  /** Why the pod may not be evicted now; nothing where it may. */
  held(world: World, pod: SimPod): HeldEviction | undefined;
  /** Ends a pod that may be evicted, within its grace period. */
  evict(world: World, pod: SimPod): void;
  /** Ends a pod without asking any budget; at once where it is forced. */
  delete(world: World, pod: SimPod, options: { readonly force: boolean }): void;
  /** How many pods of a Deployment are healthy. */
  healthy(world: World, deployment: SimDeployment): number;
  /** How many more pods of a Deployment may go. */
  allowed(world: World, deployment: SimDeployment): number;
  /** Whether a pod counts as healthy now. */
  isHealthy(world: World, pod: SimPod): boolean;
}

/** An eviction that a budget does not allow, and the budget's numbers. */
export interface HeldEviction {
  readonly held: string;
  readonly healthy: number;
  readonly wanted: number;
}

const DAY_MS = 86_400_000;

const bornBudget = (name: string): BudgetState => ({
  name,
  uid: `budget-${name}`,
  generation: 1,
  createdAt: undefined,
});

/** CoreDNS on the control planes, a web server anywhere, a DaemonSet everywhere. */
export function createWorkloads(): Workloads {
  let made = 0;
  let daemons = 0;

  function place(world: World, deployment: SimDeployment): void {
    made += 1;
    const fits = world.machines().filter((machine) => fitsOn(machine, deployment));
    const count = (machine: SimMachine): number =>
      workloads.pods.filter((pod) => pod.node === machine.name && pod.app === deployment.name).length;
    const [target] = [...fits].sort((a, b) => count(a) - count(b));
    workloads.pods.push({
      namespace: deployment.namespace,
      name: `${deployment.name}-${made}`,
      uid: `pod-${made}`,
      app: deployment.name,
      owner: 'Deployment',
      node: target?.name,
      startedAt: world.clock.now(),
      leaving: false,
    });
  }

  /** One pod of the DaemonSet at a time is replaced on its machine. */
  function restartDaemon(world: World): void {
    const wanted = workloads.daemonsRestartedAt ?? Number.NEGATIVE_INFINITY;
    const old = workloads.pods.find((pod) => pod.owner === 'DaemonSet' && pod.startedAt < wanted);
    if (old === undefined || world.find(old.node ?? '')?.isUp !== true) return;
    made += 1;
    remove(old);
    workloads.pods.push({ ...old, name: `kube-proxy-${made}`, uid: `pod-${made}`, startedAt: world.clock.now() });
  }

  function remove(pod: SimPod): void {
    const index = workloads.pods.indexOf(pod);
    if (index >= 0) workloads.pods.splice(index, 1);
  }

  function leave(world: World, pod: SimPod): void {
    pod.leaving = true;
    pod.leavingAt = world.clock.now();
    const grace = draw(world.random(`${pod.uid}/${pod.node}`), world.timing.eviction);
    world.clock.schedule(grace, () => end(world, pod));
  }

  /** A pod of the DaemonSet comes back on its machine; what replaces others is the business of `control`. */
  function end(world: World, pod: SimPod): void {
    if (!workloads.pods.includes(pod)) return;
    remove(pod);
    if (pod.owner !== 'DaemonSet' || world.find(pod.node ?? '') === undefined) return;
    daemons += 1;
    const { namespace, app, owner, node } = pod;
    const name = `${app}-again-${daemons}`;
    workloads.pods.push({
      namespace,
      name,
      uid: `pod-${name}`,
      app,
      owner,
      node,
      startedAt: world.clock.now(),
      leaving: false,
    });
  }

  const workloads: Workloads = {
    pods: [],
    deployments: [
      {
        namespace: 'kube-system',
        name: 'coredns',
        replicas: 2,
        minAvailable: undefined,
        budget: bornBudget('coredns'),
        on: 'controlplane',
        generation: 1,
        restartedAt: undefined,
      },
      {
        namespace: 'default',
        name: 'web',
        replicas: 2,
        minAvailable: 1,
        budget: bornBudget('web'),
        on: 'any',
        generation: 1,
        restartedAt: undefined,
      },
    ],
    daemonsRestartedAt: undefined,
    mirrors: new Map(),
    begin(world) {
      // A single machine has nowhere to move pods to: a budget there would hold every drain for ever.
      if (world.machines().length === 1) for (const each of workloads.deployments) each.minAvailable = undefined;
      for (const deployment of workloads.deployments) {
        for (let index = 0; index < deployment.replicas; index += 1) place(world, deployment);
      }
      for (const machine of world.machines()) {
        made += 1;
        const common = { namespace: 'kube-system', app: 'kube-proxy', owner: 'DaemonSet', leaving: false } as const;
        workloads.pods.push({
          ...common,
          name: `kube-proxy-${made}`,
          uid: `pod-${made}`,
          node: machine.name,
          startedAt: world.clock.now(),
        });
      }
      for (const pod of workloads.pods) pod.startedAt -= DAY_MS;
    },
    control(world) {
      for (const pod of workloads.pods.filter(({ node }) => node !== undefined && world.find(node) === undefined))
        remove(pod);
      restartDaemon(world);
      for (const deployment of workloads.deployments) {
        const pods = workloads.pods.filter((pod) => pod.app === deployment.name && !pod.leaving);
        for (const pod of pods.filter((each) => each.node === undefined)) remove(pod);
        const placed = pods.filter((pod) => pod.node !== undefined);
        if (placed.length < deployment.replicas) place(world, deployment);
        else if (deployment.restartedAt !== undefined) {
          const old = placed.find((pod) => pod.startedAt < (deployment.restartedAt ?? 0));
          if (old !== undefined && placed.every((pod) => workloads.isHealthy(world, pod))) leave(world, old);
        }
      }
    },
    held(world, pod) {
      const deployment = workloads.deployments.find((each) => each.name === pod.app);
      if (deployment?.minAvailable === undefined || workloads.allowed(world, deployment) >= 1) return undefined;
      const healthy = workloads.healthy(world, deployment);
      return { held: deployment.budget.name, healthy, wanted: deployment.minAvailable };
    },
    evict(world, pod) {
      if (!pod.leaving) leave(world, pod);
    },
    delete(world, pod, { force }) {
      if (force) end(world, pod);
      else if (!pod.leaving) leave(world, pod);
    },
    healthy: (world, deployment) =>
      workloads.pods.filter((pod) => pod.app === deployment.name && workloads.isHealthy(world, pod)).length,
    allowed(world, deployment) {
      if (deployment.minAvailable === undefined) return Number.POSITIVE_INFINITY;
      return Math.max(0, workloads.healthy(world, deployment) - deployment.minAvailable);
    },
    isHealthy(world, pod) {
      const machine = world.find(pod.node ?? '');
      return (
        !pod.leaving &&
        machine?.isUp === true &&
        machine.kubelet.isRunning &&
        world.clock.now() - pod.startedAt >= 3_000
      );
    },
  };
  return workloads;
}

function fitsOn(machine: SimMachine, deployment: SimDeployment): boolean {
  const isRole = deployment.on === 'any' || machine.role === deployment.on;
  return isRole && machine.node !== undefined && machine.node.ready === 'True' && !machine.node.unschedulable;
}
