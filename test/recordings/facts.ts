import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { IssueLeaf } from '../../internal/controller/identities.ts';
import type { Connections } from '../../internal/controller/index.ts';
import { type Certificate, frontProxyClientProfile, parseCertificates, probeProfile } from '../../pkg/pki/index.ts';
import {
  API_CERTIFICATES,
  ETCD_CERTIFICATES,
  ETCD_ROOT,
  isTalosError,
  KUBELET_SECRETS,
  KUBERNETES_DYNAMIC_CERTIFICATES,
  KUBERNETES_ROOT,
  OS_ROOT,
  type TalosMachine,
  TRUSTD_CERTIFICATES,
} from '../../pkg/talos/index.ts';
import type { Facts } from './recording.ts';
import type { Roles } from './roles.ts';

/** What could not be found out at that moment: nobody listened, or did not answer in time. */
export const UNKNOWN = '?';

/** Where a kubelet keeps what it shows API servers. */
const KUBELET_CLIENT_FILE = '/var/lib/kubelet/pki/kubelet-client-current.pem';

/** What facts are found out with. */
export interface FactMeans {
  readonly connections: Connections;
  readonly issueLeaf: IssueLeaf;
  readonly now: () => number;
  readonly roles: Roles;
}

/** The CAs that a machine's resources and files tell of, by role. */
export async function readHeld(client: TalosMachine, role: 'controlplane' | 'worker', roles: Roles): Promise<Facts> {
  const list = (target: CaTarget, certificates: readonly Certificate[] | undefined): string =>
    roles.list(
      target,
      (certificates ?? []).map(({ fingerprint }) => fingerprint),
    );
  const [os, api, kubelet, shown] = await Promise.all([
    client.get(OS_ROOT),
    client.get(API_CERTIFICATES),
    client.get(KUBELET_SECRETS),
    kubeletClient(client),
  ]);
  const common: Facts = {
    'talos issuing': list('talos', os?.spec.issuing?.certificates),
    'talos accepted': list('talos', os?.spec.accepted),
    'apid certificate': roles.signer('talos', api?.spec.server?.certificates[0]),
    'apid accepted': list('talos', api?.spec.accepted),
    'kubelet accepted': list('kubernetes', kubelet?.spec.accepted),
    'kubelet shows': roles.signer('kubernetes', shown),
  };
  if (role === 'worker') return common;
  const [trustd, root, dynamic, etcdRoot, etcd] = await Promise.all([
    client.get(TRUSTD_CERTIFICATES),
    client.get(KUBERNETES_ROOT),
    client.get(KUBERNETES_DYNAMIC_CERTIFICATES),
    client.get(ETCD_ROOT),
    client.get(ETCD_CERTIFICATES),
  ]);
  const aggregator = root?.spec.acceptedAggregator;
  return {
    ...common,
    'trustd certificate': roles.signer('talos', trustd?.spec.server?.certificates[0]),
    'kubernetes issuing': list('kubernetes', root?.spec.issuing?.certificates),
    'kubernetes accepted': list('kubernetes', root?.spec.accepted),
    'kube-apiserver certificate': roles.signer('kubernetes', dynamic?.spec.apiServer?.certificates[0]),
    'kube-apiserver to kubelets': roles.signer('kubernetes', dynamic?.spec.kubeletClient?.certificates[0]),
    'aggregator issuing': list('kubernetes-aggregator', root?.spec.aggregator?.certificates),
    // Before 1.14 there is no list.
    'aggregator accepted': list(
      'kubernetes-aggregator',
      aggregator?.length ? aggregator : root?.spec.aggregator?.certificates,
    ),
    'front proxy certificate': roles.signer('kubernetes-aggregator', dynamic?.spec.frontProxy?.certificates[0]),
    'etcd bundle': list('etcd', etcdRoot?.spec.ca?.certificates),
    'etcd server certificate': roles.signer('etcd', etcd?.spec.server?.certificates[0]),
    'etcd peer certificate': roles.signer('etcd', etcd?.spec.peer?.certificates[0]),
    'kube-apiserver to etcd': roles.signer('etcd', etcd?.spec.apiServer?.certificates[0]),
  };
}

/** A key stands in that file as well; it is dropped here. */
async function kubeletClient(client: TalosMachine): Promise<Certificate | undefined> {
  try {
    const text = (await client.readFile(KUBELET_CLIENT_FILE)).toString('utf8');
    const [pem] = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n/.exec(text) ?? [];
    return pem === undefined ? undefined : parseCertificates(pem)[0];
  } catch (error) {
    if (isTalosError(error, 'not-found')) return undefined;
    throw error;
  }
}

/** A TLS port: what it serves, and of which CA it takes client certificates. */
interface Port {
  readonly name: string;
  readonly port: number;
  readonly target: CaTarget;
  readonly alpn: readonly string[];
  /** Refuses certificates in HTTP, or asks for none. */
  readonly asks: boolean;
}

const APID: Port = { name: 'apid', port: 50_000, target: 'talos', alpn: ['h2'], asks: true };
const PLANE_PORTS: readonly Port[] = [
  { name: 'trustd', port: 50_001, target: 'talos', alpn: ['h2'], asks: false },
  { name: 'kube-apiserver', port: 6443, target: 'kubernetes', alpn: ['h2'], asks: false },
  // gRPC alone: Talos gives HTTP/1.1 a port of its own (`--listen-client-http-urls`).
  { name: 'etcd', port: 2379, target: 'etcd', alpn: ['h2'], asks: true },
  { name: 'etcd peer port', port: 2380, target: 'etcd', alpn: [], asks: true },
];

/** A server that refuses with 401 whom it does not know. */
interface HttpServer {
  readonly name: string;
  readonly port: number;
  readonly path: string;
  readonly target: CaTarget;
  readonly headers?: Readonly<Record<string, string>>;
}

const KUBELET: HttpServer = { name: 'kubelet', port: 10_250, path: '/pods', target: 'kubernetes' };
const PLANE_SERVERS: readonly HttpServer[] = [
  { name: 'kube-apiserver', port: 6443, path: '/api/v1/namespaces/default', target: 'kubernetes' },
  {
    name: 'kube-apiserver behind a front proxy',
    port: 6443,
    path: '/api/v1/namespaces/default',
    target: 'kubernetes-aggregator',
    headers: { 'X-Remote-User': 'ichor-probe', 'X-Remote-Group': 'system:masters' },
  },
];

/** What processes serve and whom they let in now, over new connections: it tells what they hold in memory. */
export async function readShown(
  means: FactMeans,
  { address, role }: { readonly address: string; readonly role: 'controlplane' | 'worker' },
): Promise<Facts> {
  const isPlane = role === 'controlplane';
  const ports = isPlane ? [APID, ...PLANE_PORTS] : [APID];
  const servers = isPlane ? [KUBELET, ...PLANE_SERVERS] : [KUBELET];
  const found = await Promise.all([
    ...ports.map((port) => readPort(means, address, port)),
    ...servers.map((server) => readServer(means, address, server)),
  ]);
  return Object.assign({}, ...found) as Facts;
}

async function readPort(means: FactMeans, address: string, { name, port, target, alpn, asks }: Port): Promise<Facts> {
  const authorities = means.roles.of(target);
  const trust = authorities.map(([, ca]) => ca.certificate);
  const tried = await Promise.all(
    authorities.map(async ([role, ca]) => {
      const credentials = await leafOf(means, target, ca);
      const shown = asks ? { credentials } : {};
      return { role, ...(await means.connections.probeTls({ host: address, port, trust, alpn, ...shown })) };
    }),
  );
  const chain = tried.find((each) => each.chain.length > 0)?.chain;
  const isUnknown = tried.some(({ verdict }) => verdict !== 'accepted' && verdict !== 'untrusted-client');
  const taken = tried.filter(({ verdict }) => verdict === 'accepted').map(({ role }) => role);
  return {
    [`${name} serves`]: chain === undefined ? UNKNOWN : means.roles.signer(target, chain[0]),
    ...(asks ? { [`${name} takes`]: isUnknown ? UNKNOWN : taken.join(' ') || '-' } : {}),
  };
}

async function readServer(means: FactMeans, address: string, server: HttpServer): Promise<Facts> {
  const { name, target, port, path, headers } = server;
  const tried = await Promise.all(
    means.roles.of(target).map(async ([role, ca]) => {
      const credentials = await leafOf(means, target, ca);
      const outcome = await means.connections.probeHttps({
        address,
        port,
        path,
        credentials,
        ...(headers && { headers }),
      });
      return { role, outcome };
    }),
  );
  const isUnknown = tried.some(({ outcome }) => outcome.kind === 'unreachable' || outcome.kind === 'failed');
  // Who is known and has no rights gets another answer than 401.
  const taken = tried.filter(({ outcome }) => outcome.kind === 'answered' && outcome.status !== 401);
  return { [`${name} takes`]: isUnknown ? UNKNOWN : taken.map(({ role }) => role).join(' ') || '-' };
}

/** Longer than any rotation that is recorded. */
const TRIAL_VALIDITY_MS = 12 * 3_600_000;

const leaves = new WeakMap<FactMeans, Map<string, ReturnType<IssueLeaf>>>();

/** One leaf of each CA for the whole recording; it has no rights, and is kept in memory only. */
function leafOf(means: FactMeans, target: CaTarget, ca: Parameters<IssueLeaf>[0]): ReturnType<IssueLeaf> {
  const mine = leaves.get(means) ?? new Map<string, ReturnType<IssueLeaf>>();
  leaves.set(means, mine);
  const known = mine.get(ca.certificate.fingerprint);
  if (known !== undefined) return known;
  const now = means.now();
  // API servers take a front proxy by its name.
  const profile =
    target === 'kubernetes-aggregator' ? frontProxyClientProfile({ now }) : probeProfile({ now, usage: 'client' });
  const made = means.issueLeaf(ca, { ...profile, validityMs: TRIAL_VALIDITY_MS });
  mine.set(ca.certificate.fingerprint, made);
  return made;
}
