import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createKubeClient,
  isKubeError,
  type KubeClient,
  type KubeClientOptions,
  readApiServerHealth,
} from '../../../pkg/kube/index.ts';
import {
  type CertificateAndKey,
  createCa,
  createServiceAccountKey,
  issueLeaf,
  kubernetesAdminProfile,
  toPkcs8,
  writeCertificates,
} from '../../../pkg/pki/index.ts';
import { toolPath } from '../../tools/tools.ts';

/** The programs that a control plane is made of; a suite that uses one is skipped where they are missing. */
export const CONTROL_PLANE_TOOLS = ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const;

/** What a control plane consists of. */
export interface ControlPlaneOptions {
  /** How many API servers share the one etcd; 1 when absent. */
  readonly apiServers?: number;
  /** Also run a kube-controller-manager (garbage collection, budgets, rollouts, kube-root-ca.crt); no when absent. */
  readonly controllerManager?: boolean;
  /** More flags for each kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
  /** More flags for etcd. */
  readonly etcdFlags?: readonly string[];
}

/** One API server with its process. */
export interface ApiServer {
  /** `https://127.0.0.1:port` */
  readonly url: string;
  readonly process: ManagedProcess;
}

/** A program that runs, and its log. */
export interface ManagedProcess {
  readonly child: ChildProcess;
  /** Everything that it has written so far. */
  log(): Promise<string>;
  /** Ends it with a signal and waits until it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Real etcd and Kubernetes on loopback ports; no kubelet, so pods never run unless a test writes their status. */
export interface ControlPlane {
  readonly directory: string;
  readonly etcdUrl: string;
  readonly etcd: ManagedProcess;
  readonly kubernetesCa: CertificateAndKey;
  readonly aggregatorCa: CertificateAndKey;
  readonly admin: CertificateAndKey;
  readonly apiServers: readonly ApiServer[];
  readonly controllerManager: ManagedProcess | undefined;
  /** The administrator's client of one API server (of the first when absent). */
  client(overrides?: Partial<KubeClientOptions> & { readonly index?: number }): KubeClient;
  /** Starts another kube-apiserver on the same etcd and files, with other flags if given. */
  addApiServer(flags?: readonly string[]): Promise<ApiServer>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a control plane and waits until each of its API servers is ready. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const directory = await mkdtemp(join(tmpdir(), 'ichor-control-plane-'));
  const running: ManagedProcess[] = [];
  const clients: KubeClient[] = [];
  const material = await writeMaterial(directory);
  const start = async (name: string, flags: readonly string[]): Promise<ManagedProcess> => {
    const started = await startProcess({ name, flags, directory, number: running.length });
    running.push(started);
    return started;
  };
  const dispose = async (): Promise<void> => {
    for (const client of clients) client.close();
    // The last one started goes first: an API server without etcd does not stop by itself.
    for (const one of running.toReversed()) await one.stop('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  };
  const clientOf = (url: string, overrides: Partial<KubeClientOptions> = {}): KubeClient => {
    const client = createKubeClient({
      server: url,
      trust: [material.kubernetesCa.certificate],
      credentials: { kind: 'certificate', ...material.admin },
      ...overrides,
    });
    clients.push(client);
    return client;
  };
  const addApiServer = async (etcdUrl: string, flags: readonly string[] = []): Promise<ApiServer> => {
    const port = await freePort();
    const process = await start('kube-apiserver', [
      ...apiServerFlags({ directory, etcdUrl, port }),
      ...(options.apiServerFlags ?? []),
      ...flags,
    ]);
    const server = { url: `https://127.0.0.1:${port}`, process };
    await untilReady(clientOf(server.url), process);
    return server;
  };
  try {
    const { etcd, etcdUrl } = await startEtcd(directory, start, options.etcdFlags ?? []);
    const apiServers: ApiServer[] = [];
    for (let index = 0; index < (options.apiServers ?? 1); index += 1) apiServers.push(await addApiServer(etcdUrl));
    const first = apiServers[0];
    const controllerManager =
      options.controllerManager && first !== undefined
        ? await startControllerManager(directory, start, first.url, material)
        : undefined;
    return {
      directory,
      etcdUrl,
      etcd,
      kubernetesCa: material.kubernetesCa,
      aggregatorCa: material.aggregatorCa,
      admin: material.admin,
      apiServers,
      controllerManager,
      client: ({ index = 0, ...overrides } = {}) => clientOf(apiServers[index]?.url ?? '', overrides),
      addApiServer: (flags) => addApiServer(etcdUrl, flags),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

type Start = (name: string, flags: readonly string[]) => Promise<ManagedProcess>;

interface Material {
  readonly kubernetesCa: CertificateAndKey;
  readonly aggregatorCa: CertificateAndKey;
  readonly admin: CertificateAndKey;
  readonly controllerManager: CertificateAndKey;
}

/** Certificates and keys under the names that Talos gives them. */
async function writeMaterial(directory: string): Promise<Material> {
  const now = Date.now();
  const kubernetesCa = await createCa('kubernetes', { now });
  const aggregatorCa = await createCa('kubernetes-aggregator', { now });
  const admin = await issueLeaf(kubernetesCa, kubernetesAdminProfile({ now }));
  const controllerManager = await issueLeaf(kubernetesCa, {
    subject: { cn: 'system:kube-controller-manager' },
    usages: ['client'],
    now,
  });
  const server = await issueLeaf(kubernetesCa, {
    subject: { cn: 'kube-apiserver' },
    usages: ['server'],
    ips: ['127.0.0.1', '10.96.0.1'],
    dns: ['localhost', 'kubernetes'],
    now,
  });
  const frontProxy = await issueLeaf(aggregatorCa, { subject: { cn: 'front-proxy-client' }, usages: ['client'], now });
  const serviceAccount = await createServiceAccountKey();
  const files: Record<string, string> = {
    'ca.crt': kubernetesCa.certificate.pem,
    'ca.key': toPkcs8(kubernetesCa.key).expose(),
    'aggregator-ca.crt': aggregatorCa.certificate.pem,
    'apiserver.crt': server.certificate.pem,
    'apiserver.key': toPkcs8(server.key).expose(),
    'front-proxy-client.crt': frontProxy.certificate.pem,
    'front-proxy-client.key': toPkcs8(frontProxy.key).expose(),
    'service-account.key': serviceAccount.privateKey.expose(),
    'service-account.pub': serviceAccount.publicKey,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text, { mode: 0o600 });
  return { kubernetesCa, aggregatorCa, admin, controllerManager };
}

async function startEtcd(directory: string, start: Start, flags: readonly string[]) {
  const [clientPort, peerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${clientPort}`;
  const etcd = await start('etcd', [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
    '--unsafe-no-fsync',
    ...flags,
  ]);
  return { etcd, etcdUrl: url };
}

function apiServerFlags(at: { directory: string; etcdUrl: string; port: number }): string[] {
  const file = (name: string): string => join(at.directory, name);
  return [
    `--etcd-servers=${at.etcdUrl}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${at.port}`,
    '--advertise-address=127.0.0.1',
    // Several API servers on one address would fight over the endpoints of the service `kubernetes`.
    '--endpoint-reconciler-type=none',
    `--client-ca-file=${file('ca.crt')}`,
    `--tls-cert-file=${file('apiserver.crt')}`,
    `--tls-private-key-file=${file('apiserver.key')}`,
    `--requestheader-client-ca-file=${file('aggregator-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User',
    `--proxy-client-cert-file=${file('front-proxy-client.crt')}`,
    `--proxy-client-key-file=${file('front-proxy-client.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('service-account.pub')}`,
    `--service-account-signing-key-file=${file('service-account.key')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
    // Pods of tests need no service account.
    '--disable-admission-plugins=ServiceAccount',
    '--shutdown-watch-termination-grace-period=1s',
  ];
}

async function startControllerManager(
  directory: string,
  start: Start,
  server: string,
  material: Material,
): Promise<ManagedProcess> {
  const kubeconfig = join(directory, 'controller-manager.kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf(server, material.kubernetesCa, material.controllerManager), { mode: 0o600 });
  return await start('kube-controller-manager', [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    `--root-ca-file=${join(directory, 'ca.crt')}`,
    `--cluster-signing-cert-file=${join(directory, 'ca.crt')}`,
    `--cluster-signing-key-file=${join(directory, 'ca.key')}`,
    `--service-account-private-key-file=${join(directory, 'service-account.key')}`,
    '--use-service-account-credentials=true',
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    `--secure-port=${await freePort()}`,
  ]);
}

/** A kubeconfig with one context, as Talos writes it: everything inline. */
export function kubeconfigOf(server: string, ca: CertificateAndKey, user: CertificateAndKey): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      { name: 'test', cluster: { server, 'certificate-authority-data': base64(writeCertificates([ca.certificate])) } },
    ],
    users: [
      {
        name: 'test',
        user: {
          'client-certificate-data': base64(user.certificate.pem),
          'client-key-data': base64(user.key.expose()),
        },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  });
}

async function startProcess(of: {
  name: string;
  flags: readonly string[];
  directory: string;
  number: number;
}): Promise<ManagedProcess> {
  await mkdir(join(of.directory, 'logs'), { recursive: true });
  const logFile = join(of.directory, 'logs', `${of.number}-${of.name}.log`);
  const output = openSync(logFile, 'a', 0o600);
  const child = spawn(toolPath(of.name), of.flags, { cwd: of.directory, stdio: ['ignore', output, output] });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  // Nothing may outlive the test run, not even when it is interrupted.
  const onExit = (): void => {
    child.kill('SIGKILL');
  };
  process.once('exit', onExit);
  return {
    child,
    log: () => readFile(logFile, 'utf8'),
    async stop(signal = 'SIGTERM') {
      process.off('exit', onExit);
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await gone;
    },
  };
}

async function untilReady(client: KubeClient, process: ManagedProcess): Promise<void> {
  const endsAt = performance.now() + 90_000;
  for (let last = 'it has not answered'; performance.now() < endsAt; ) {
    if (process.child.exitCode !== null) break;
    try {
      const health = await readApiServerHealth(client, { fresh: true, deadlineMs: 10_000 });
      if (health.ready) return;
      last = `failing: ${health.failing.join(', ')}`;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      last = error.message;
    }
    await sleep(200);
    if (performance.now() >= endsAt) throw new Error(`${client.server} is not ready after 90 s; ${last}`);
  }
  throw new Error(`kube-apiserver ended before it was ready:\n${(await process.log()).slice(-2_000)}`);
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('no port was given');
  return address.port;
}
