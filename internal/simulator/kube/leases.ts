import { type KubeObject, type LeaseObject, toMicroTime, toTime } from '../../../pkg/kube/index.ts';
import type { NodeState, SimMachine } from '../machine.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, NAME_COLUMN, textColumn } from './columns.ts';
import { shared, sharedByAll } from './shared.ts';
import { uidOf } from './storage.ts';
import { stored } from './stored.ts';

/** The Lease of a kubelet. */
export function leaseObject({ name, node }: SimMachine): LeaseObject | undefined {
  if (node === undefined) return undefined;
  const { uid, createdAt, leaseAt } = node;
  return leaseOf(node, { name, uid, createdAt, leaseAt });
}

type LeaseFacts = Pick<SimMachine, 'name'> & Pick<NodeState, 'uid' | 'createdAt' | 'leaseAt'>;

const leaseOf = sharedByAll(
  ({ name, uid, createdAt, leaseAt }: LeaseFacts): LeaseObject => ({
    metadata: {
      name,
      namespace: 'kube-node-lease',
      uid: `lease-${uid}`,
      resourceVersion: String(leaseAt),
      creationTimestamp: toTime(createdAt),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
    },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: toMicroTime(leaseAt) },
  }),
);

/** Who leads the controller managers; it is held by the one that works. */
function leaderObject(world: World): KubeObject | undefined {
  const lead = world.kubernetes.lead();
  const [first] = world.planes();
  if (lead === undefined || first?.node === undefined) return undefined;
  const { name, instance } = lead;
  return leaderOf(lead, { name, instance, createdAt: first.node.createdAt });
}

const leaderOf = shared(
  ({ name, instance, createdAt }: { name: string; instance: number; createdAt: number }): KubeObject => ({
    metadata: {
      name: 'kube-controller-manager',
      namespace: 'kube-system',
      uid: 'lease-kube-controller-manager',
      resourceVersion: '1',
      creationTimestamp: toTime(createdAt),
    },
    ...{ spec: { holderIdentity: `${name}_${uidOf(`${name}/${instance}`)}`, leaseDurationSeconds: 15 } },
  }),
);

/** Leases: of kubelets, of the leading controller manager, and whatever else is held. */
export const LEASES = stored({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  singular: 'lease',
  kind: 'Lease',
  namespaced: true,
  shortNames: [],
  columns: [NAME_COLUMN, textColumn('Holder', 'spec.holderIdentity'), AGE_COLUMN],
  own(world) {
    const leases: KubeObject[] = [];
    for (const machine of world.machines()) {
      const lease = leaseObject(machine);
      if (lease !== undefined) leases.push(lease);
    }
    const leader = leaderObject(world);
    return leader === undefined ? leases : [...leases, leader];
  },
});
