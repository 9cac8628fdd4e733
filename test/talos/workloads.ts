import { request } from 'node:https';
import { succeeded } from './clients.ts';
import type { TalosCluster } from './cluster.ts';
import { waitFor } from './wait.ts';

/** Whether a program reads its trust again and again, or at its start only. */
export type TrustReading = 'reload' | 'once';

/** What an in-cluster client saw of the Kubernetes API. */
export interface ClientStats {
  readonly mode: TrustReading;
  readonly requests: number;
  readonly failures: number;
  readonly failuresInARow: number;
  readonly lastError: string;
  /** Longest time without a request that succeeded. */
  readonly longestStallMs: number;
  /** SHA-256 of every CA that it trusts. */
  readonly caFingerprints: readonly string[];
}

/** What an aggregated API server saw of its callers. */
export interface AggregatedStats {
  readonly mode: TrustReading;
  readonly served: number;
  readonly refused: number;
  /** Common name of the last client certificate. */
  readonly lastName: string;
  readonly lastRefusal: string;
  readonly loadError: string;
  /** SHA-256 of every front-proxy CA that it trusts. */
  readonly caFingerprints: readonly string[];
  readonly allowedNames: readonly string[] | null;
}

const NAMESPACE = 'ichor-workloads';
const PORTS = { client: { reload: 9181, once: 9182 }, aggregated: { reload: 6444, once: 6445 } } as const;
const READINGS: readonly TrustReading[] = ['reload', 'once'];

/** The API group that an aggregated API server serves. */
export function aggregatedGroup(reading: TrustReading): string {
  return `${reading}.test.ichor.dev`;
}

/**
 * Puts the test workloads on a cluster that has a worker, and waits until all of
 * them are ready: `web`, two replicas with a disruption budget of one; an
 * in-cluster client and an aggregated API server of each kind of trust reading.
 */
export async function deployWorkloads(cluster: TalosCluster): Promise<Workloads> {
  const worker = cluster.workers[0];
  if (worker === undefined) throw new Error('the test workloads need a cluster with a worker');
  const manifest = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests() });
  succeeded('apply the workloads', await cluster.kubectl(['apply', '-f', '-'], { input: manifest }));
  const ready = ['-n', NAMESPACE, 'wait', 'deployment', '--all', '--for=condition=Available', '--timeout=300s'];
  const result = await cluster.kubectl(['--request-timeout=0', ...ready], { timeoutMs: 310_000 });
  succeeded('the workloads to be ready', result);
  const workloads = createWorkloads(cluster, worker.address);
  for (const reading of READINGS) {
    await waitFor(`the aggregated API ${aggregatedGroup(reading)}`, 300_000, () => workloads.pings(reading), 500);
  }
  return workloads;
}

/** Removes them again, so that the cluster is as it was. */
export async function removeWorkloads(cluster: TalosCluster): Promise<void> {
  const names = READINGS.map((reading) => `v1.${aggregatedGroup(reading)}`);
  const clusterWide = [...names.map((name) => `apiservice/${name}`), `namespace/${NAMESPACE}`];
  await cluster.kubectl(['-n', 'kube-system', 'delete', '--ignore-not-found', 'rolebinding/ichor-workloads']);
  const args = ['--request-timeout=0', 'delete', '--ignore-not-found', '--timeout=300s', ...clusterWide];
  succeeded('remove the workloads', await cluster.kubectl(args, { timeoutMs: 310_000 }));
}

/** What tests ask of the workloads. */
export interface Workloads {
  readonly namespace: string;
  client(reading: TrustReading): Promise<ClientStats>;
  aggregated(reading: TrustReading): Promise<AggregatedStats>;
  /** Whether the aggregated API answers through every API server; throws what the first that fails says. */
  pings(reading: TrustReading): Promise<boolean>;
}

function createWorkloads(cluster: TalosCluster, host: string): Workloads {
  return {
    namespace: NAMESPACE,
    async client(reading) {
      const answer = await fetch(`http://${host}:${PORTS.client[reading]}/stats`, {
        signal: AbortSignal.timeout(5_000),
      });
      return (await answer.json()) as ClientStats;
    },
    async aggregated(reading) {
      return (await getJson(host, PORTS.aggregated[reading], '/stats')) as AggregatedStats;
    },
    async pings(reading) {
      for (const server of cluster.apiServers) {
        const path = `/apis/${aggregatedGroup(reading)}/v1/pings`;
        const list = succeeded(
          `pings through ${server}`,
          await cluster.kubectl(['--server', server, 'get', '--raw', path]),
        );
        if ((JSON.parse(list) as { kind: string }).kind !== 'PingList') return false;
      }
      return true;
    },
  };
}

/** The server's certificate says nothing: it is made anew at every start, and what is read is not secret. */
function getJson(host: string, port: number, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path, rejectUnauthorized: false, agent: false, timeout: 5_000 }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve(JSON.parse(text)));
    });
    asked.on('timeout', () => asked.destroy(new Error(`no answer from ${host}:${port}${path} in 5 s`)));
    asked.on('error', reject);
    asked.end();
  });
}

function manifests(): object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      // Talos enforces "baseline" by default, which forbids the host network.
      metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
    },
    web(),
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace: NAMESPACE },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'ichor-workloads', namespace: 'kube-system' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'Role',
        name: 'extension-apiserver-authentication-reader',
      },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: NAMESPACE }],
    },
    ...READINGS.flatMap((reading) => [client(reading), ...aggregated(reading)]),
  ];
}

/** Tolerates control planes, so that both replicas find another machine while one is drained. */
function web(): object {
  return deployment('web', {
    replicas: 2,
    pod: {
      tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { app: 'web' } },
        },
      ],
      containers: [
        {
          name: 'web',
          image: 'ichor/web:1',
          env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
        },
      ],
    },
  });
}

function client(reading: TrustReading): object {
  const port = PORTS.client[reading];
  return deployment(`client-${reading}`, {
    replicas: 1,
    pod: onWorker({
      name: 'client',
      image: 'ichor/client:1',
      args: [String(port), reading],
      readinessProbe: { httpGet: { path: '/stats', port }, periodSeconds: 1 },
    }),
  });
}

function aggregated(reading: TrustReading): object[] {
  const name = `aggregated-${reading}`;
  const port = PORTS.aggregated[reading];
  const group = aggregatedGroup(reading);
  return [
    deployment(name, {
      replicas: 1,
      pod: onWorker({
        name: 'aggregated',
        image: 'ichor/aggregated:1',
        args: [String(port), group, reading],
        readinessProbe: { httpGet: { path: '/stats', port, scheme: 'HTTPS' }, periodSeconds: 1 },
      }),
    }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: NAMESPACE },
      spec: { selector: { app: name }, ports: [{ port: 443, targetPort: port }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.${group}` },
      spec: {
        group,
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { name, namespace: NAMESPACE, port: 443 },
      },
    },
  ];
}

/** On the host network, because pods of different machines do not reach each other; the API is Talos's own local balancer. */
function onWorker(container: object): object {
  const env = [
    { name: 'KUBERNETES_SERVICE_HOST', value: '127.0.0.1' },
    { name: 'KUBERNETES_SERVICE_PORT', value: '7445' },
  ];
  return { hostNetwork: true, containers: [{ ...container, env }] };
}

function deployment(name: string, { replicas, pod }: { replicas: number; pod: object }): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas,
      // Ports of the host cannot be used twice, so the old pod goes first.
      ...(replicas === 1 && { strategy: { type: 'Recreate' } }),
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { terminationGracePeriodSeconds: 5, ...pod } },
    },
  };
}
