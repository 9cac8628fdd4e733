import type { Clock } from '../../pkg/clock/index.ts';
import {
  isKubeError,
  type KubeClient,
  listApiServices,
  listNodes,
  pathOf,
  readAggregatorAuth,
  readApiServerHealth,
  whyNotReady,
} from '../../pkg/kube/index.ts';
import { parseCertificates, verifyChain } from '../../pkg/pki/index.ts';
import { ETCD_CERTIFICATES, ETCD_ROOT, type TalosMachine } from '../../pkg/talos/index.ts';
import { type Connections, contextOf, type Place } from './connections.ts';
import type { EtcdPki, Machine, Readings } from './readings.ts';

/** Namespace of the ConfigMap that is written before and read after. */
const NAMESPACE = 'default';

/** How long one answer may take, ms: a machine that is busy is not a machine that is gone. */
const DEADLINE_MS = 5_000;

/** The machines as Kubernetes lists them now, control planes first; asked through the first endpoint that answers. */
export async function listMachines(directory: string, connections: Connections): Promise<readonly Machine[]> {
  const { endpoints } = await contextOf(directory);
  const nodes = await firstAnswer(
    endpoints.map((address) => ({ name: address, address })),
    (place) => connections.kube(place, (client) => listNodes(client)),
  );
  const machines = await Promise.all(
    nodes.map(async ({ name, internalIps, isControlPlane, kubeletVersion }): Promise<Machine> => {
      const [address] = internalIps;
      if (address === undefined) throw new Error(`the Node ${name} has no internal address`);
      const version = await connections.talos({ name, address }, (client) => client.version()).catch(() => undefined);
      const role = isControlPlane ? 'controlplane' : 'worker';
      return { name, address, role, talos: version?.tag ?? 'unknown', kubelet: kubeletVersion };
    }),
  );
  return [...machines].sort((a, b) => (a.role === b.role ? 0 : a.role === 'controlplane' ? -1 : 1));
}

/** Reads over the machines' own APIs; what is cluster-wide through the first control plane that answers. */
export function createReadings(machines: readonly Machine[], connections: Connections, clock: Clock): Readings {
  const planes = machines.filter((machine) => machine.role === 'controlplane');
  const anyKube = <T>(work: (client: KubeClient) => Promise<T>): Promise<T> =>
    firstAnswer(planes, (machine) => connections.kube(machine, work));
  const configMaps = pathOf('api', 'v1', 'namespaces', NAMESPACE, 'configmaps');

  return {
    nodes: () =>
      anyKube(async (client) => {
        const nodes = await listNodes(client, { deadlineMs: DEADLINE_MS });
        return nodes.map((node) => ({
          name: node.name,
          ready: whyNotReady(node, { now: clock.now() }) === undefined,
          cordoned: node.unschedulable,
        }));
      }),
    apiServerReady: (machine) =>
      connections.kube(
        machine,
        async (client) => (await readApiServerHealth(client, { fresh: true, deadlineMs: DEADLINE_MS })).ready,
      ),
    bootId: (machine) => connections.talos(machine, (client) => client.bootId({ deadlineMs: DEADLINE_MS })),
    etcdMembers: (machine) =>
      connections.talos(machine, async (client) =>
        (await client.etcd.members({ deadlineMs: DEADLINE_MS })).map((member) => member.id),
      ),
    etcdHealthy: (machine) => connections.talos(machine, etcdHealthy),
    etcdTrustFile: (machine) =>
      connections.talos(machine, async (client) => {
        const file = await client.readFile('/system/secrets/etcd/ca.crt', { deadlineMs: DEADLINE_MS });
        return parseCertificates(file.toString('utf8'), `${machine.name}: ca.crt`).map((each) => each.fingerprint);
      }),
    etcdPki: (machine) => connections.talos(machine, etcdPki),
    etcdSnapshot: (machine, use) => connections.talos(machine, (client) => use(client.etcd.snapshot())),
    requestHeaderCas: () => anyKube(async (client) => (await readAggregatorAuth(client))?.requestHeaderCas ?? []),
    extensionApis: () =>
      anyKube(async (client) =>
        (await listApiServices(client, { deadlineMs: DEADLINE_MS })).flatMap(
          ({ name, extension, available, reason, message }) =>
            extension === undefined ? [] : [{ name, available, message: `${reason} ${message}`.trim() }],
        ),
      ),
    nodeMetrics: () => anyKube(nodeMetrics),
    createConfigMap: (name, value) =>
      anyKube(async (client) => {
        await client.request({
          method: 'POST',
          path: configMaps,
          body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } },
          contentType: 'application/json',
          doing: `create the ConfigMap ${NAMESPACE}/${name}`,
        });
      }),
    readConfigMap: (name) => anyKube((client) => readConfigMap(client, name)),
    deleteConfigMap: (name) =>
      anyKube(async (client) => {
        await client.request({
          method: 'DELETE',
          path: `${configMaps}/${name}`,
          doing: `delete the ConfigMap ${NAMESPACE}/${name}`,
        });
      }),
  };
}

/** The first answer of any place, in their order; throws what the last one said where none answers. */
async function firstAnswer<P extends Place, T>(places: readonly P[], ask: (place: P) => Promise<T>): Promise<T> {
  let last: unknown = new Error('the talosconfig names no endpoint');
  for (const place of places) {
    try {
      return await ask(place);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

async function etcdHealthy(client: TalosMachine): Promise<boolean> {
  const options = { deadlineMs: DEADLINE_MS };
  const [status, alarms] = await Promise.all([client.etcd.status(options), client.etcd.alarms(options)]);
  return status.leader !== undefined && !status.learner && status.errors.length === 0 && alarms.length === 0;
}

async function etcdPki(client: TalosMachine): Promise<EtcdPki> {
  const [root, leaves] = await Promise.all([client.get(ETCD_ROOT), client.get(ETCD_CERTIFICATES)]);
  const authorities = root?.spec.ca?.certificates ?? [];
  const [first] = authorities;
  const [leaf] = leaves?.spec.server?.certificates ?? [];
  return {
    trusted: authorities.map((each) => each.fingerprint),
    leafByFirst:
      first !== undefined &&
      leaf !== undefined &&
      verifyChain(leaf, [first], { now: leaf.notBefore, usage: 'server', clockSkewMs: 60_000 }).ok,
  };
}

/** What `kubectl top nodes` asks for. */
async function nodeMetrics(client: KubeClient): Promise<number | undefined> {
  try {
    const { items } = await client.request<{ readonly items: readonly unknown[] }>({
      method: 'GET',
      path: '/apis/metrics.k8s.io/v1beta1/nodes',
      doing: 'read the metrics of the nodes',
      deadlineMs: DEADLINE_MS,
    });
    return items.length;
  } catch (error) {
    if (isKubeError(error, 'discovery', 'not-found') && error.status === 404) return undefined;
    throw error;
  }
}

async function readConfigMap(client: KubeClient, name: string): Promise<string | undefined> {
  try {
    const { data } = await client.request<{ readonly data?: { readonly value?: string } }>({
      method: 'GET',
      path: pathOf('api', 'v1', 'namespaces', NAMESPACE, 'configmaps', name),
      doing: `read the ConfigMap ${NAMESPACE}/${name}`,
    });
    return data?.value;
  } catch (error) {
    if (isKubeError(error, 'not-found')) return undefined;
    throw error;
  }
}
