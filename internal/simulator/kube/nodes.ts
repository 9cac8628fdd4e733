import { CORDONED_BY, type KubeObject, type NodeObject, toTime } from '../../../pkg/kube/index.ts';
import type { NodeState, SimMachine } from '../machine.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, column, NAME_COLUMN, wide } from './columns.ts';
import { fieldOf, listOf, textOf } from './fields.ts';
import type { Resource, Write } from './resource.ts';
import { once, sharedByAll } from './shared.ts';
import { uidOf } from './storage.ts';

/** Kubernetes of every simulated machine. */
export const KUBERNETES_VERSION = 'v1.36.3';

const CONTROL_PLANE_LABEL = 'node-role.kubernetes.io/control-plane';
const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';

/** What a Node is made of: everything about the machine and its kubelet but the Lease, which is an object of its own. */
type NodeFacts = Pick<SimMachine, 'name' | 'address' | 'role' | 'version'> & Omit<NodeState, 'leaseAt' | 'beatAt'>;

/** The Node of a machine as the API shows it. */
export function nodeObject(machine: SimMachine): NodeObject | undefined {
  const { name, address, role, version, node } = machine;
  if (node === undefined) return undefined;
  const { uid, bootId, ready, unschedulable, annotations, labels, taints } = node;
  const { reportedAt, readySince, resourceVersion, createdAt } = node;
  return nodeOf(node, {
    name,
    address,
    role,
    version,
    uid,
    bootId,
    ready,
    unschedulable,
    annotations,
    labels,
    taints,
    reportedAt,
    readySince,
    resourceVersion,
    createdAt,
  });
}

const nodeOf = sharedByAll((facts: NodeFacts): NodeObject => {
  const taints = taintsOf(facts);
  return {
    metadata: {
      name: facts.name,
      uid: facts.uid,
      resourceVersion: String(facts.resourceVersion),
      creationTimestamp: toTime(facts.createdAt),
      labels: { ...labelsOf(facts), ...facts.labels },
      annotations: { ...facts.annotations },
    },
    spec: {
      ...(taints.length === 0 ? {} : { taints }),
      ...(facts.unschedulable ? { unschedulable: true } : {}),
    },
    status: statusOf(facts),
  };
});

function labelsOf({ name, role }: Pick<SimMachine, 'name' | 'role'>): Record<string, string> {
  return {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    ...(role === 'controlplane' ? { [CONTROL_PLANE_LABEL]: '' } : {}),
  };
}

type Taint = NonNullable<NodeObject['spec']['taints']>[number];

function taintsOf(node: Pick<NodeState, 'taints' | 'unschedulable'>): readonly Taint[] {
  // The node controller adds the taint a moment after the field; here it is there at once.
  return node.unschedulable ? [...node.taints, { key: UNSCHEDULABLE_TAINT, effect: 'NoSchedule' }] : node.taints;
}

const CAPACITY = { cpu: '4', memory: '8388608Ki', pods: '110', 'ephemeral-storage': '41943040Ki' };

function statusOf(facts: NodeFacts): NonNullable<NodeObject['status']> & object {
  const heartbeat = toTime(facts.reportedAt);
  const created = toTime(facts.createdAt);
  const healthy = (type: string, reason: string, message: string) => ({
    type,
    status: 'False' as const,
    reason,
    message,
    lastHeartbeatTime: heartbeat,
    lastTransitionTime: created,
  });
  return {
    ...{ capacity: CAPACITY, allocatable: CAPACITY },
    conditions: [
      healthy('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
      healthy('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
      healthy('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
      {
        type: 'Ready',
        status: facts.ready,
        ...READY_REASONS[facts.ready],
        lastHeartbeatTime: heartbeat,
        lastTransitionTime: toTime(facts.readySince),
      },
    ],
    addresses: [
      { type: 'InternalIP', address: facts.address },
      { type: 'Hostname', address: facts.name },
    ],
    ...{ daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } } },
    nodeInfo: nodeInfoOf(facts),
  };
}

const READY_REASONS: Readonly<Record<NodeState['ready'], { reason: string; message: string }>> = {
  True: { reason: 'KubeletReady', message: 'kubelet is posting ready status' },
  False: { reason: 'KubeletNotReady', message: 'the kubelet has started and is not healthy yet' },
  Unknown: { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' },
};

function nodeInfoOf({ uid, bootId, version }: NodeFacts) {
  return {
    bootID: bootId,
    kubeletVersion: KUBERNETES_VERSION,
    osImage: `Talos (v${version})`,
    ...identityOf(uid),
    kernelVersion: '6.18.0-talos',
    containerRuntimeVersion: 'containerd://2.2.0',
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
}

const identityOf = once((uid) => {
  const id = uidOf(uid);
  return { machineID: id.replaceAll('-', ''), systemUUID: id };
});

/** Takes up what others than the kubelet may write: labels, annotations, taints, and whether pods are scheduled there. */
function update(world: World, { before, after }: Write): undefined {
  const { name } = before.metadata;
  const machine = world.find(name);
  if (machine?.node === undefined) return;
  const { node } = machine;
  const wasUnschedulable = node.unschedulable;
  node.annotations = { ...after.metadata.annotations };
  const own = Object.keys(labelsOf(machine));
  node.labels = Object.fromEntries(Object.entries(after.metadata.labels ?? {}).filter(([key]) => !own.includes(key)));
  node.unschedulable = fieldOf(after, 'spec.unschedulable') === true;
  node.taints = listOf<Taint>(after, 'spec.taints').filter(({ key }) => key !== UNSCHEDULABLE_TAINT);
  node.resourceVersion += 1;
  const hasNewOwner = before.metadata.annotations?.[CORDONED_BY] !== after.metadata.annotations?.[CORDONED_BY];
  if (wasUnschedulable !== node.unschedulable || hasNewOwner)
    world.trace(`${name} ${node.unschedulable ? 'cordoned' : 'schedulable'}`);
}

function rolesOf(object: KubeObject): string {
  const roles = Object.keys(object.metadata.labels ?? {})
    .filter((key) => key.startsWith('node-role.kubernetes.io/'))
    .map((key) => key.slice('node-role.kubernetes.io/'.length));
  return roles.length === 0 ? '<none>' : roles.sort().join(',');
}

function readyText(object: KubeObject): string {
  const ready = listOf(object, 'status.conditions').find(({ type }) => type === 'Ready');
  const text = ready?.status === 'True' ? 'Ready' : 'NotReady';
  return fieldOf(object, 'spec.unschedulable') === true ? `${text},SchedulingDisabled` : text;
}

const internalIp = (object: KubeObject): string =>
  String(listOf(object, 'status.addresses').find(({ type }) => type === 'InternalIP')?.address ?? '<none>');

/** Nodes, each the doing of a machine's kubelet. */
export const NODES: Resource = {
  group: '',
  version: 'v1',
  plural: 'nodes',
  singular: 'node',
  kind: 'Node',
  namespaced: false,
  shortNames: ['no'],
  fields: ['spec.unschedulable'],
  columns: [
    NAME_COLUMN,
    column('Status', readyText),
    column('Roles', rolesOf),
    AGE_COLUMN,
    column('Version', (object) => textOf(object, 'status.nodeInfo.kubeletVersion')),
    wide('Internal-IP', internalIp),
    wide('External-IP', () => '<none>'),
    wide('OS-Image', (object) => textOf(object, 'status.nodeInfo.osImage')),
    wide('Kernel-Version', (object) => textOf(object, 'status.nodeInfo.kernelVersion')),
    wide('Container-Runtime', (object) => textOf(object, 'status.nodeInfo.containerRuntimeVersion')),
  ],
  list(world) {
    const nodes: NodeObject[] = [];
    for (const machine of world.machines()) {
      const node = nodeObject(machine);
      if (node !== undefined) nodes.push(node);
    }
    return nodes;
  },
  find: (world, name) => {
    const machine = world.find(name);
    return machine === undefined ? undefined : nodeObject(machine);
  },
  update,
};
