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
import type { RefusalProof } from '../rotation/observation.ts';
import type { IssueLeaf } from './identities.ts';
import type { ListedMachine } from './machines.ts';
import { type CaChange, changesOf } from './material.ts';
import type { ClusterState, Connections, HttpsOutcome } from './ports.ts';

/** What the proofs are made with. */
export interface RefusalInput {
  readonly connections: Connections;
  readonly clock: Clock;
  readonly state: ClusterState;
  readonly machines: readonly ListedMachine[];
  readonly issueLeaf: IssueLeaf;
}

type Trial = (machine: ListedMachine, old: CertificateAndKey) => Promise<RefusalProof>;

/** Where a certificate of the old CA must be refused, per target. */
interface Trials {
  readonly profile: (options: { now: number }) => LeafProfile;
  readonly where: readonly {
    readonly on: 'all' | 'controlplane';
    readonly trial: (connections: Connections, change: CaChange) => Trial;
  }[];
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
  });
  const runs = trials.where.flatMap(({ on, trial }) =>
    input.machines
      .filter((machine) => on === 'all' || machine.role === 'controlplane')
      .map((machine) => trial(input.connections, change)(machine, old)),
  );
  return Promise.all(runs);
}

const TRIALS: Readonly<Record<CaChange['target'], Trials>> = {
  talos: {
    profile: talosAdminProfile,
    where: [
      { on: 'all', trial: clientRefused('apid', 50_000, ['h2']) },
      { on: 'controlplane', trial: serverRefused('trustd', 50_001, ['h2']) },
    ],
  },
  kubernetes: {
    profile: kubernetesAdminProfile,
    where: [
      { on: 'controlplane', trial: requestRefused('kube-apiserver', 6443, '/api/v1/namespaces/default') },
      { on: 'all', trial: requestRefused('kubelet', 10_250, '/pods') },
    ],
  },
  etcd: {
    profile: etcdClientProfile,
    where: [
      // gRPC alone: Talos gives HTTP/1.1 a port of its own (`--listen-client-http-urls`), and a client that offers no
      // HTTP/2 is hung up on here, whoever it is.
      { on: 'controlplane', trial: clientRefused('etcd', 2379, ['h2']) },
      { on: 'controlplane', trial: clientRefused('etcd peers', 2380, []) },
    ],
  },
  'kubernetes-aggregator': {
    profile: frontProxyClientProfile,
    where: [
      {
        on: 'controlplane',
        trial: requestRefused('kube-apiserver as front proxy', 6443, '/api/v1/namespaces/default', {
          'X-Remote-User': 'ichor-probe',
          'X-Remote-Group': 'system:masters',
        }),
      },
    ],
  },
};

/** The server must refuse the old client certificate in TLS. */
function clientRefused(what: string, port: number, alpn: readonly string[]) {
  return (connections: Connections, change: CaChange): Trial =>
    async ({ name, address }, old) => {
      const trust = [change.new.certificate];
      const outcome = await connections.probeTls({ host: address, port, trust, credentials: old, alpn });
      return proofOf(`old client certificate at ${what} of ${name} (${address}:${port})`, outcome, 'untrusted-client');
    };
}

/** We must refuse the server when we trust the old CA alone: it serves nothing of the old one. */
function serverRefused(what: string, port: number, alpn: readonly string[]) {
  return (connections: Connections, change: CaChange): Trial =>
    async ({ name, address }) => {
      const outcome = await connections.probeTls({ host: address, port, trust: [change.old.certificate], alpn });
      return proofOf(
        `trust in the old CA alone at ${what} of ${name} (${address}:${port})`,
        outcome,
        'untrusted-server',
      );
    };
}

/** The server must answer 401 to the old client certificate, or refuse it in TLS. */
function requestRefused(what: string, port: number, path: string, headers: Readonly<Record<string, string>> = {}) {
  return (connections: Connections): Trial =>
    async ({ name, address }, old) => {
      const outcome: HttpsOutcome = await connections.probeHttps({ address, port, path, credentials: old, headers });
      const about = `old client certificate at ${what} of ${name} (${address}:${port})`;
      if (outcome.kind === 'unreachable') return { what: about, outcome: 'unknown', message: outcome.message };
      if (outcome.kind === 'untrusted-client') return { what: about, outcome: 'refused', message: outcome.message };
      // 401: not authenticated. Anything else means that the certificate said who we are.
      const refused = outcome.status === 401;
      return { what: about, outcome: refused ? 'refused' : 'accepted', message: `HTTP ${outcome.status}` };
    };
}

function proofOf(what: string, outcome: TlsProbe, refusal: 'untrusted-client' | 'untrusted-server'): RefusalProof {
  if (outcome.verdict === refusal) return { what, outcome: 'refused', message: outcome.detail };
  if (outcome.verdict === 'accepted') return { what, outcome: 'accepted', message: 'the connection was accepted' };
  return { what, outcome: 'unknown', message: `${outcome.verdict}: ${outcome.detail}` };
}
