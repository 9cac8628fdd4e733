import type { Connections } from '../../internal/controller/index.ts';
import { bundlePartsOf, type SecretsBundle } from '../../pkg/bundle/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import { type KubeClientOptions, KubeError, toMicroTime } from '../../pkg/kube/index.ts';
import { readMachineConfig } from '../../pkg/machineconfig/index.ts';
import { type Certificate, createEncryptionKey, issueLeaf, Secret, verifyChain } from '../../pkg/pki/index.ts';
import { type Identity, TalosError } from '../../pkg/talos/index.ts';
import { aMeta, aNode } from './kube-objects.ts';
import { aKubeconfig } from './kubeconfig.ts';
import { aMachineConfig } from './machine-config.ts';

/** A configuration that a machine was given. */
export interface AppliedConfig {
  readonly dryRun: boolean;
  readonly config: string;
}

/** A cluster of one control plane in memory, whose apid accepts and serves what its configuration says. For the Talos CA only. */
export interface OneMachine {
  readonly connections: Connections;
  /** The configuration that it runs with. */
  config(): string;
  /** What it was given, in order. */
  readonly applied: readonly AppliedConfig[];
  /** Its disk is put back to this configuration. */
  putBack(config: string): void;
  /** The next so many requests to its API server find nobody. */
  failKubernetes(times: number): void;
  /** From now on nobody reaches these ports of it. */
  closePorts(ports: readonly number[]): void;
}

/** Its address in every talosconfig of the tests. */
export const ONE_ADDRESS = '10.5.0.2';

/** A machine that was configured from this bundle. */
export function oneMachine(bundle: SecretsBundle, clock: Clock): OneMachine {
  const encryption = createEncryptionKey('secretbox', 'key2');
  let config = aMachineConfig({ material: { ...bundle, encryption } }).replaceAll(
    'c2VjcmV0',
    `${'QUFB'.repeat(10)}QUE=`,
  );
  const applied: AppliedConfig[] = [];
  let failures = 0;
  let closed: readonly number[] = [];

  // Read once for each configuration: every call asks.
  let seen:
    | { readonly config: string; readonly issuing: Certificate; readonly accepted: readonly Certificate[] }
    | undefined;
  let leaf: Promise<Certificate> | undefined;
  function view() {
    if (seen?.config === config) return seen;
    const { issuing, accepted } = readMachineConfig(config).talos;
    if (issuing === undefined) throw new Error('the configuration of the test has no machine.ca');
    if (seen?.issuing.fingerprint !== issuing.fingerprint) leaf = undefined;
    seen = { config, issuing, accepted: [...accepted, issuing] };
    return seen;
  }
  const accepts = (client: Certificate): boolean =>
    verifyChain(client, view().accepted, { now: clock.now(), usage: 'client' }).ok;
  function serving(): Promise<Certificate> {
    view();
    leaf ??= issueLeaf(bundlePartsOf(config, 'cp1').talos, {
      subject: { o: ['apid'] },
      usages: ['server'],
      now: clock.now(),
    }).then(({ certificate }) => certificate);
    return leaf;
  }

  async function resource({ type }: { readonly type: string }): Promise<unknown> {
    const issuing = { certificates: [view().issuing] };
    if (type.startsWith('OSRootSecrets')) return { spec: { issuing, accepted: view().accepted } };
    if (type.startsWith('ApiCertificates')) {
      return { spec: { accepted: view().accepted, server: { certificates: [await serving()] } } };
    }
    return undefined;
  }

  function talosClient({ name, ...given }: { readonly name: string } & Identity): unknown {
    let identity: Identity = given;
    let isClosed = false;
    const guarded = async <T>(call: string, work: () => T | Promise<T>): Promise<T> => {
      const serves = await serving();
      const detail = (kind: 'untrusted-server' | 'untrusted-client') =>
        new TalosError({ kind, machine: name, call, outcome: 'not-done', detail: 'refused' });
      if (isClosed)
        throw new TalosError({
          kind: 'cancelled',
          machine: name,
          call,
          outcome: 'not-done',
          detail: 'the client was closed',
        });
      if (!verifyChain(serves, identity.trust, { now: clock.now(), usage: 'server' }).ok)
        throw detail('untrusted-server');
      if (!accepts(identity.credentials.certificate)) throw detail('untrusted-client');
      return work();
    };
    const member = 'aaaaaaaaaaaaaaaa';
    return {
      name,
      version: () => guarded('Version', () => ({ tag: 'v1.14.1' })),
      bootId: () => guarded('BootID', () => 'boot-of-cp1'),
      configuration: () =>
        guarded('Configuration', () => ({ config: Secret.of('machine-config', config), version: 1n })),
      // What it runs is what it keeps.
      readFile: () => guarded('Read', () => Buffer.from(config)),
      services: () =>
        guarded('ServiceList', () => ['etcd', 'kubelet'].map((id) => ({ id, state: 'Running', healthy: true }))),
      containers: () =>
        guarded('Containers', () => [
          {
            id: 'container-1',
            name: 'kube-apiserver',
            podId: 'kube-system/kube-apiserver-cp1',
            sandbox: false,
            status: 'CONTAINER_RUNNING',
          },
        ]),
      list: () => guarded('List', () => [{ metadata: { id: 'cp1' }, spec: { addresses: [ONE_ADDRESS] } }]),
      get: (kind: { readonly type: string }) => guarded('Get', () => resource(kind)),
      kubeconfig: () =>
        guarded('Kubeconfig', () =>
          aKubeconfig(bundle.kubernetes, clock.now(), { server: `https://${ONE_ADDRESS}:6443` }),
        ),
      etcd: {
        status: () => guarded('EtcdStatus', () => ({ memberId: member, leader: member, errors: [] })),
        members: () => guarded('EtcdMemberList', () => [{ id: member, name: 'cp1', learner: false }]),
        alarms: () => guarded('EtcdAlarmList', () => []),
      },
      apply: (request: { readonly config: Secret; readonly dryRun?: boolean }) =>
        guarded('ApplyConfiguration', () => {
          const dryRun = request.dryRun === true;
          applied.push({ dryRun, config: request.config.expose() });
          const changes = request.config.expose() !== config;
          if (!dryRun) config = request.config.expose();
          return { mode: 'NO_REBOOT', warnings: [], details: 'Applied configuration without a reboot', changes };
        }),
      use(next: Identity) {
        identity = next;
      },
      reconnect: () => undefined,
      close() {
        isClosed = true;
      },
    };
  }

  function kubeClient({ server }: KubeClientOptions): unknown {
    return {
      server,
      clock,
      async request({ path, doing }: { readonly path: string; readonly doing: string }) {
        if (failures > 0) {
          failures -= 1;
          throw new KubeError({ kind: 'unreachable', server, doing, found: 'ECONNREFUSED', outcome: 'not-done' });
        }
        return answer(path, clock.now());
      },
      close: () => undefined,
    };
  }

  const probeTls: Connections['probeTls'] = async ({ port, credentials, trust }) => {
    if (closed.includes(port)) return { verdict: 'unreachable', detail: 'ECONNREFUSED', chain: [], tookMs: 1 };
    if (port === 10_250) {
      // Its kubelet was given a certificate (`rotate-server-certificates`), and asks clients for none in TLS.
      const { certificate } = await issueLeaf(bundle.kubernetes, {
        subject: { o: ['system:nodes'], cn: 'system:node:cp1' },
        usages: ['server'],
        now: clock.now(),
      });
      return { verdict: 'untrusted-server', detail: 'the kubelet', chain: [certificate], tookMs: 1 };
    }
    const serves = await serving();
    const took = { detail: 'as the configuration says', chain: [serves], tookMs: 1 };
    if (!verifyChain(serves, trust, { now: clock.now(), usage: 'server' }).ok)
      return { verdict: 'untrusted-server', ...took };
    const isKnown = credentials !== undefined && accepts(credentials.certificate);
    return { verdict: isKnown ? 'accepted' : 'untrusted-client', ...took };
  };
  const connections = {
    talos: talosClient,
    kube: kubeClient,
    probeTls,
    probeHttps: async () => ({ kind: 'unreachable', message: 'nobody is there' }),
  } as unknown as Connections;
  return {
    connections,
    config: () => config,
    applied,
    putBack(before) {
      config = before;
    },
    failKubernetes(times) {
      failures = times;
    },
    closePorts(ports) {
      closed = ports;
    },
  };
}

/** What the API server of a small healthy cluster says. */
function answer(path: string, now: number): unknown {
  if (path === '/readyz' || path === '/livez') return '[+]ping ok\ncheck passed\n';
  if (path === '/api/v1/nodes') {
    return { items: [aNode('cp1', { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } })] };
  }
  if (path.endsWith('/leases')) {
    const metadata = aMeta('cp1', { namespace: 'kube-node-lease' });
    return { items: [{ metadata, spec: { holderIdentity: 'cp1', renewTime: toMicroTime(now) } }] };
  }
  if (path.endsWith('/selfsubjectreviews'))
    return { status: { userInfo: { username: 'admin', groups: ['system:masters'] } } };
  return { items: [] };
}
