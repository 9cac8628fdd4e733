import { type KubeObject, type LeaseObject, toMicroTime, toTime } from '../../../pkg/kube/index.ts';
import type { SimMachine } from '../machine.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, NAME_COLUMN, textColumn } from './columns.ts';
import { uidOf } from './storage.ts';
import { stored } from './stored.ts';

/** The Lease of a kubelet. */
export function leaseObject(machine: SimMachine): LeaseObject[] {
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
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: machine.name, uid: node.uid }],
      },
      spec: { holderIdentity: machine.name, leaseDurationSeconds: 40, renewTime: toMicroTime(node.leaseAt) },
    },
  ];
}

/** Who leads the controller managers; it is held by the one that works. */
function leaderObject(world: World): KubeObject[] {
  const lead = world.kubernetes.lead();
  const [first] = world.planes();
  if (lead === undefined || first?.node === undefined) return [];
  const holderIdentity = `${lead.name}_${uidOf(`${lead.name}/${lead.instance}`)}`;
  return [
    {
      metadata: {
        name: 'kube-controller-manager',
        namespace: 'kube-system',
        uid: 'lease-kube-controller-manager',
        resourceVersion: '1',
        creationTimestamp: toTime(first.node.createdAt),
      },
      ...{ spec: { holderIdentity, leaseDurationSeconds: 15 } },
    },
  ];
}

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
  own: (world) => [...world.machines().flatMap(leaseObject), ...leaderObject(world)],
});
