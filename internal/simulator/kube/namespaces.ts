import { type KubeObject, toTime } from '../../../pkg/kube/index.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, column, NAME_COLUMN, textColumn } from './columns.ts';
import { failure } from './request.ts';
import type { Resource } from './resource.ts';
import { shared } from './shared.ts';
import { stored } from './stored.ts';

/** A namespace as the cluster remembers it. */
export interface NamespaceState {
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
}

/** Those that a cluster is born with. */
export const BORN_NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

const BORN_AT = Date.UTC(2026, 0, 1);

/** A namespace of the cluster; one that was never created is as old as the cluster. */
export function namespaceOf(world: World, name: string): NamespaceState {
  return world.kubernetes.namespaces.get(name) ?? BORN.get(name) ?? born(name);
}

const born = (name: string): NamespaceState => ({
  uid: `namespace-${name}`,
  createdAt: BORN_AT,
  labels: {},
  annotations: {},
});

/** The same in every world. */
const BORN: ReadonlyMap<string, NamespaceState> = new Map(BORN_NAMESPACES.map((name) => [name, born(name)]));

function namespaceObject(world: World, name: string): KubeObject {
  const state = namespaceOf(world, name);
  const { uid, createdAt, labels, annotations } = state;
  return namespaceFrom(state, { name, uid, createdAt, labels, annotations });
}

type NamespaceFacts = NamespaceState & { readonly name: string };

const namespaceFrom = shared(({ name, uid, createdAt, labels, annotations }: NamespaceFacts): KubeObject => {
  return {
    metadata: {
      name,
      uid,
      resourceVersion: '1',
      creationTimestamp: toTime(createdAt),
      labels: { ...labels, 'kubernetes.io/metadata.name': name },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    ...{ spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } },
  };
});

/** Namespaces. The controller manager gives each its `kube-root-ca.crt`. */
export const NAMESPACES: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  namespaced: false,
  shortNames: ['ns'],
  fields: ['status.phase'],
  columns: [NAME_COLUMN, textColumn('Status', 'status.phase'), AGE_COLUMN],
  list: (world) => [...world.kubernetes.rootCas.keys()].map((name) => namespaceObject(world, name)),
  create(world, { metadata }) {
    const { name, uid, labels = {}, annotations = {} } = metadata;
    const { rootCas, namespaces } = world.kubernetes;
    namespaces.set(name, { uid, createdAt: world.clock.now(), labels, annotations });
    rootCas.set(name, rootCas.get('default') ?? '');
    return undefined;
  },
  update(world, { after }) {
    const { name, labels = {}, annotations = {} } = after.metadata;
    world.kubernetes.namespaces.set(name, { ...namespaceOf(world, name), labels, annotations });
    return undefined;
  },
  remove(world, { object }) {
    const { name } = object.metadata;
    if (BORN_NAMESPACES.includes(name)) {
      const message = `namespaces "${name}" is forbidden: this namespace may not be deleted`;
      return failure(403, 'Forbidden', message, { name, kind: 'namespaces' });
    }
    world.kubernetes.rootCas.delete(name);
    world.kubernetes.namespaces.delete(name);
    world.kubernetes.storage.clear(name);
    return undefined;
  },
};

/** ServiceAccounts: one called `default` in every namespace. Tokens are not issued. */
export const SERVICE_ACCOUNTS = stored({
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  kind: 'ServiceAccount',
  namespaced: true,
  shortNames: ['sa'],
  columns: [NAME_COLUMN, AGE_COLUMN],
  own: (world) =>
    [...world.kubernetes.rootCas.keys()].map((namespace) => ({
      metadata: {
        name: 'default',
        namespace,
        uid: `account-${namespace}`,
        resourceVersion: '1',
        creationTimestamp: toTime(namespaceOf(world, namespace).createdAt),
      },
    })),
});

/** Services: the one of the API server and of CoreDNS, and what people write; nothing listens behind those. */
export const SERVICES = stored({
  group: '',
  version: 'v1',
  plural: 'services',
  singular: 'service',
  kind: 'Service',
  namespaced: true,
  shortNames: ['svc'],
  categories: ['all'],
  fields: ['spec.type', 'spec.clusterIP'],
  columns: [
    NAME_COLUMN,
    textColumn('Type', 'spec.type'),
    textColumn('Cluster-IP', 'spec.clusterIP'),
    column('External-IP', () => '<none>'),
    column('Port(s)', portsOf),
    AGE_COLUMN,
  ],
  own: (world) => [
    serviceObject('default', 'kubernetes', '10.96.0.1', [
      { name: 'https', port: 443, protocol: 'TCP', targetPort: world.planes()[0]?.plane?.apiServer.port ?? 0 },
    ]),
    serviceObject('kube-system', 'kube-dns', '10.96.0.10', [
      { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
      { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 },
    ]),
  ],
});

interface Port {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly targetPort: number;
}

function serviceObject(namespace: string, name: string, clusterIP: string, ports: readonly Port[]): KubeObject {
  return {
    metadata: { name, namespace, uid: `service-${name}`, resourceVersion: '1', creationTimestamp: toTime(BORN_AT) },
    ...{ spec: { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ports }, status: { loadBalancer: {} } },
  };
}

function portsOf(object: KubeObject): string {
  const { ports = [] } = ((object as { spec?: { ports?: readonly Port[] } }).spec ?? {}) as { ports?: readonly Port[] };
  return ports.map(({ port, protocol = 'TCP' }) => `${port}/${protocol}`).join(',') || '<none>';
}
