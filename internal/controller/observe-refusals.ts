import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import {
  type CertificateAndKey,
  etcdClientProfile,
  frontProxyClientProfile,
  kubernetesAdminProfile,
  type LeafProfile,
  talosAdminProfile,
} from '../../pkg/pki/index.ts';
import type { TlsProbe } from '../../pkg/talos/index.ts';
import type { MachineObservation, RefusalProof } from '../rotation/observation.ts';
import type { IssueLeaf } from './identities.ts';
import type { ListedMachine } from './machines.ts';
import { type CaChange, changesOf } from './material.ts';
import type { ClusterState, Connections } from './ports.ts';

/** What the proofs are made with. */
export interface RefusalInput {
  readonly connections: Connections;
  readonly clock: Clock;
  readonly state: ClusterState;
  readonly machines: readonly Located[];
  readonly issueLeaf: IssueLeaf;
}

/** One attempt at an endpoint of one machine. */
interface Attempt {
  readonly connections: Connections;
  readonly clock: Pick<Clock, 'now'>;
  readonly change: CaChange;
  readonly old: CertificateAndKey;
  readonly place: Place;
}

/** What listens on a port of every machine, or of every control plane, and how it must refuse. */
interface Endpoint {
  readonly what: string;
  readonly on: 'all' | 'controlplane';
  /** `configured`: that of kube-apiserver in the machine's configuration. */
  readonly port: number | 'configured';
  readonly alpn: readonly string[];
  readonly trial: (attempt: Attempt) => Promise<RefusalProof>;
}

/** An endpoint of one machine. */
interface Place extends Pick<Endpoint, 'what' | 'alpn'> {
  readonly port: number;
  readonly machine: Located;
}

/** Where a certificate of the old CA must be refused, per target. */
interface Trials {
  readonly profile: (options: { now: number }) => LeafProfile;
  readonly where: readonly Endpoint[];
}

/**
 * Tries a leaf of every old CA at every endpoint that once accepted it, each over
 * a connection of its own. TLS 1.3 refuses a client certificate only after the
 * handshake, so every trial reads; Kubernetes refuses in HTTP, so those send a
 * request. An endpoint that cannot be reached proves nothing and is said.
 */
export async function observeRefusals(input: RefusalInput): Promise<RefusalProof[]> {
  const proofs = await Promise.all(changesOf(input.state).map((change) => tryEverywhere(input, change)));
  return proofs.flat();
}

async function tryEverywhere(input: RefusalInput, change: CaChange): Promise<RefusalProof[]> {
  const trials = TRIALS[change.target];
  const old = await input.issueLeaf(change.old, {
    ...trials.profile({ now: input.clock.now() }),
    validityMs: 3_600_000,
    // Being expired or unfit may be why it was replaced: what it signs must be refused all the same.
    anySigner: true,
  });
  const { connections, clock } = input;
  const runs = trials.where.flatMap((endpoint) =>
    machinesWith(endpoint, input.machines).map(async (machine) => {
      const place = placeOn(endpoint, machine);
      return place === undefined
        ? unlocated(endpoint, machine)
        : endpoint.trial({ connections, clock, change, old, place });
    }),
  );
  return Promise.all(runs);
}

/** At the usual port something else may listen, and its answer would prove nothing. */
function unlocated({ what }: Endpoint, { name, address }: Located): RefusalProof {
  return {
    what: `old client certificate at ${what} of ${name} (${address})`,
    outcome: 'unknown',
    message: 'its configuration could not be read, so the port is not known',
  };
}

function machinesWith<M extends Located>({ on }: Endpoint, machines: readonly M[]): readonly M[] {
  return machines.filter((machine) => on === 'all' || machine.role === 'controlplane');
}

/** Where the endpoint is on this machine; undefined where its configuration was not read. */
function placeOn({ what, alpn, port: given }: Endpoint, machine: Located): Place | undefined {
  const port = given === 'configured' ? machine.apiServerPort : given;
  return port === undefined ? undefined : { what, alpn, port, machine };
}

/** Which machine, and where. */
export interface Located extends Pick<ListedMachine, 'name' | 'address' | 'role'> {
  /** Where its kube-apiserver listens; undefined where its configuration was not read. */
  readonly apiServerPort: number | undefined;
}

/** Where a machine is, as far as it was seen. */
export function locate({ name, address, role, talos }: MachineObservation): Located {
  return { name, address, role, apiServerPort: talos.known ? talos.value.apiServerPort : undefined };
}

/** What the reachability of endpoints is asked with; a machine whose configuration was not read is not asked on the port that it sets. */
export interface ReachabilityInput {
  readonly connections: Connections;
  readonly machines: readonly Located[];
  readonly targets: readonly CaTarget[];
}

/** A port that this host cannot reach. */
export interface UnreachableEndpoint {
  readonly port: number;
  /** `etcd of cp1 (10.0.0.1:2379): why` */
  readonly text: string;
}

/**
 * The endpoints of these targets that this host cannot reach now. Shows no certificate and trusts none: whatever
 * speaks TLS there is reachable. For the plan, so that nobody learns of a closed port
 * in Finalizing.
 */
export async function unreachableEndpoints({
  connections,
  machines,
  targets,
}: ReachabilityInput): Promise<UnreachableEndpoint[]> {
  const asked = new Map<string, Promise<UnreachableEndpoint | undefined>>();
  for (const endpoint of targets.flatMap((target) => TRIALS[target].where)) {
    for (const machine of machinesWith(endpoint, machines)) {
      const place = placeOn(endpoint, machine);
      if (place === undefined) continue;
      const { address: host } = machine;
      const { port, alpn } = place;
      // Two targets may ask at the same port.
      if (asked.has(`${host} ${port}`)) continue;
      const probe = connections.probeTls({ host, port, alpn, trust: [] });
      asked.set(
        `${host} ${port}`,
        probe.then((found) => (isUnreachable(found) ? { port, text: `${textOf(place)}: ${found.detail}` } : undefined)),
      );
    }
  }
  const found = await Promise.all(asked.values());
  return found.filter((each) => each !== undefined);
}

/** No connection came about, or nothing was served over it: a port that is closed, or filtered on the way. */
function isUnreachable({ verdict, chain }: TlsProbe): boolean {
  return verdict === 'unreachable' || (verdict === 'timeout' && chain.length === 0);
}

function textOf({ what, port, machine: { name, address } }: Place): string {
  return `${what} of ${name} (${address}:${port})`;
}

const TRIALS: Readonly<Record<CaTarget, Trials>> = {
  talos: {
    profile: talosAdminProfile,
    where: [
      { what: 'apid', on: 'all', port: 50_000, alpn: ['h2'], trial: clientRefused },
      { what: 'trustd', on: 'controlplane', port: 50_001, alpn: ['h2'], trial: serverRefused },
    ],
  },
  kubernetes: {
    profile: kubernetesAdminProfile,
    where: [
      {
        what: 'kube-apiserver',
        on: 'controlplane',
        port: 'configured',
        alpn: [],
        trial: requestRefused('/api/v1/namespaces/default'),
      },
      { what: 'kubelet', on: 'all', port: 10_250, alpn: [], trial: requestRefused('/pods') },
    ],
  },
  etcd: {
    profile: etcdClientProfile,
    where: [
      // gRPC alone: Talos gives HTTP/1.1 a port of its own (`--listen-client-http-urls`), and a client that offers no
      // HTTP/2 is hung up on here, whoever it is.
      { what: 'etcd', on: 'controlplane', port: 2379, alpn: ['h2'], trial: clientRefused },
      { what: 'etcd peers', on: 'controlplane', port: 2380, alpn: [], trial: clientRefused },
    ],
  },
  'kubernetes-aggregator': {
    profile: frontProxyClientProfile,
    where: [
      {
        what: 'kube-apiserver as front proxy',
        on: 'controlplane',
        port: 'configured',
        alpn: [],
        trial: requestRefused('/api/v1/namespaces/default', {
          'X-Remote-User': 'ichor-probe',
          'X-Remote-Group': 'system:masters',
        }),
      },
    ],
  },
};

/** The server must refuse the old client certificate in TLS. */
async function clientRefused(attempt: Attempt): Promise<RefusalProof> {
  const { connections, change, old, place } = attempt;
  const { port, alpn, machine } = place;
  const trust = [change.new.certificate];
  const outcome = await connections.probeTls({ host: machine.address, port, trust, credentials: old, alpn });
  const what = `old client certificate at ${textOf(place)}`;
  return proofOf(attempt, { what, outcome, refusal: 'untrusted-client' });
}

/** We must refuse the server when we trust the old CA alone: it serves nothing of the old one. */
async function serverRefused(attempt: Attempt): Promise<RefusalProof> {
  const { connections, change, place } = attempt;
  const { port, alpn, machine } = place;
  const outcome = await connections.probeTls({ host: machine.address, port, trust: [change.old.certificate], alpn });
  const what = `trust in the old CA alone at ${textOf(place)}`;
  return proofOf(attempt, { what, outcome, refusal: 'untrusted-server' });
}

/** The server must answer 401 to the old client certificate, or refuse it in TLS. */
function requestRefused(path: string, headers: Readonly<Record<string, string>> = {}) {
  return async ({ connections, old, place }: Attempt): Promise<RefusalProof> => {
    const { port, machine } = place;
    const { address } = machine;
    const outcome = await connections.probeHttps({ address, port, path, credentials: old, headers });
    const what = `old client certificate at ${textOf(place)}`;
    if (outcome.kind === 'unreachable') return { what, outcome: 'unreachable', message: outcome.message };
    if (outcome.kind === 'failed') return { what, outcome: 'unknown', message: outcome.message };
    if (outcome.kind === 'untrusted-client') return { what, outcome: 'refused', message: outcome.message };
    return { what, outcome: verdictOf(outcome.status), message: `HTTP ${outcome.status}` };
  };
}

/**
 * 401: not authenticated. Who is busy, starts or ends (429, 5xx) may say so before it asks who we are. Anything else
 * means that the certificate said it.
 */
function verdictOf(status: number): RefusalProof['outcome'] {
  if (status === 401) return 'refused';
  return status === 429 || status >= 500 ? 'unknown' : 'accepted';
}

/** How one handshake ended, and how it had to. */
interface Handshake {
  readonly what: string;
  readonly outcome: TlsProbe;
  readonly refusal: 'untrusted-client' | 'untrusted-server';
}

function proofOf({ change, clock }: Attempt, { what, outcome, refusal }: Handshake): RefusalProof {
  const { verdict, reason, detail } = outcome;
  if (verdict === 'accepted') return { what, outcome: 'accepted', message: 'the connection was accepted' };
  if (verdict === refusal && reason === 'wrong-name') {
    // Names are looked at last, when the CA was found good.
    return { what, outcome: 'accepted', message: `it serves a certificate of the old CA (${detail})` };
  }
  // Go and OpenSSL may look at the time before the CA: with a clock that is wrong this says nothing of trust.
  const isForItsTime =
    (reason === 'expired' || reason === 'not-yet-valid') && clock.now() < change.old.certificate.notAfter;
  if (verdict === refusal && !isForItsTime) return { what, outcome: 'refused', message: detail };
  const kind = isUnreachable(outcome) ? 'unreachable' : 'unknown';
  return { what, outcome: kind, message: `${verdict}: ${detail}` };
}
