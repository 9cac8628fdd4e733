import type { LeaseObject, NodeObject, PodObject, WorkloadObject } from '../../pkg/kube/index.ts';

/** Metadata with what an API server always sets. */
export function aMeta(name: string, overrides: object = {}) {
  return { name, uid: `uid-of-${name}`, resourceVersion: '1', creationTimestamp: '2026-11-05T10:00:00Z', ...overrides };
}

/** A Node that is ready, as its kubelet reports it. */
export function aNode(name: string, overrides: { metadata?: object; spec?: object; status?: object } = {}): NodeObject {
  return {
    metadata: aMeta(name, overrides.metadata),
    spec: { ...overrides.spec },
    status: {
      conditions: [
        { type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: '2026-11-05T11:59:00Z' },
      ],
      addresses: [{ type: 'InternalIP', address: '10.5.0.2' }],
      nodeInfo: { bootID: `boot-of-${name}`, kubeletVersion: 'v1.37.2', osImage: 'Talos (v1.14.1)' },
      ...overrides.status,
    },
  } as NodeObject;
}

/** The Lease that a kubelet renews. */
export function aNodeLease(name: string, renewTime: string, leaseDurationSeconds = 40): LeaseObject {
  const spec = { holderIdentity: name, leaseDurationSeconds, renewTime };
  return { metadata: aMeta(name, { namespace: 'kube-node-lease' }), spec };
}

/** A running pod that mounts `kube-root-ca.crt`, started at noon, with the given controller. */
export function aPod(
  name: string,
  overrides: {
    owner?: { apiVersion: string; kind: string; name: string; uid?: string };
    metadata?: object;
    spec?: object;
    status?: object;
  } = {},
): PodObject {
  const { owner } = overrides;
  return {
    metadata: aMeta(name, {
      namespace: 'default',
      ...(owner === undefined
        ? {}
        : { ownerReferences: [{ uid: `uid-of-${owner.name}`, controller: true, ...owner }] }),
      ...overrides.metadata,
    }),
    spec: {
      nodeName: 'worker-1',
      volumes: [{ name: 'api', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }],
      ...overrides.spec,
    },
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'main', state: { running: { startedAt: '2026-11-05T12:00:00Z' } } }],
      ...overrides.status,
    },
  } as PodObject;
}

/** A workload of three pods whose last rollout is complete. */
export function aWorkload(
  name: string,
  overrides: { metadata?: object; spec?: object; status?: object } = {},
): WorkloadObject {
  return {
    metadata: aMeta(name, { namespace: 'default', generation: 2, ...overrides.metadata }),
    spec: { replicas: 3, template: { metadata: { labels: { app: name } } }, ...overrides.spec },
    status: { observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3, ...overrides.status },
  } as WorkloadObject;
}
