import { request } from 'node:https';
import { CA_TARGETS, type CaTarget } from '../../../api/v1alpha1/index.ts';
import { caOf, type SecretsBundle } from '../../../pkg/bundle/index.ts';
import {
  type CertificateAndKey,
  etcdClientProfile,
  frontProxyClientProfile,
  issueLeaf,
  kubernetesAdminProfile,
  type LeafProfile,
  talosAdminProfile,
  toPkcs8,
} from '../../../pkg/pki/index.ts';
import { proveRefused } from '../../../pkg/talos/index.ts';
import type { MachineStatus } from '../status.ts';

/** One question to one port, and what came back. */
export interface Proof {
  /** `cp1: the Talos API refuses the old talosconfig`. */
  readonly what: string;
  readonly holds: boolean;
  /** What was found, in words. */
  readonly found: string;
}

/** One client certificate for each CA. */
export type ClientCertificates = Readonly<Record<CaTarget, CertificateAndKey>>;

const PROFILES: Readonly<Record<CaTarget, (now: number) => LeafProfile>> = {
  talos: (now) => talosAdminProfile({ now }),
  kubernetes: (now) => kubernetesAdminProfile({ now }),
  etcd: (now) => etcdClientProfile({ now }),
  'kubernetes-aggregator': (now) => frontProxyClientProfile({ now }),
};

/** Clients with full rights, signed by the CAs of a bundle; good for a day at least. */
export async function clientsOf(bundle: SecretsBundle, now: number): Promise<ClientCertificates> {
  const entries: [CaTarget, CertificateAndKey][] = [];
  for (const target of CA_TARGETS) entries.push([target, await issueLeaf(caOf(bundle, target), PROFILES[target](now))]);
  return Object.fromEntries(entries) as ClientCertificates;
}

/** What the proofs are made with. */
export interface ProofOptions {
  readonly machines: readonly MachineStatus[];
  /** The bundle as it is after the rotation. */
  readonly bundle: SecretsBundle;
  readonly old: ClientCertificates;
  readonly new: ClientCertificates;
}

/**
 * Asks every port of every machine with an old certificate, and with a new one
 * before and after: what is down refuses everything, which would prove nothing.
 */
export async function proveRotation(options: ProofOptions): Promise<Proof[]> {
  const proofs: Proof[] = [];
  for (const machine of options.machines) {
    proofs.push(await refusesTls(options, machine, 'talos', { port: 50_000, what: 'the Talos API' }));
    if (machine.role === 'worker') continue;
    proofs.push(await refusesTls(options, machine, 'etcd', { port: 2379, what: 'etcd' }));
    proofs.push(await refusesHttp(options, machine, 'kubernetes', {}));
    proofs.push(await refusesHttp(options, machine, 'kubernetes-aggregator', PROXIED));
  }
  return proofs;
}

/** What a front proxy says of whom it asks for. */
const PROXIED = { 'X-Remote-User': 'demo', 'X-Remote-Group': 'system:masters' };

async function refusesTls(
  { bundle, old, new: next }: ProofOptions,
  { name, address }: MachineStatus,
  target: CaTarget,
  { port, what }: { readonly port: number; readonly what: string },
): Promise<Proof> {
  const { refused, probe, control } = await proveRefused({
    host: address,
    port,
    trust: [caOf(bundle, target).certificate],
    credentials: old[target],
    control: next[target],
  });
  return {
    what: `${name}: ${what} refuses the old client certificate and takes the new one`,
    holds: refused,
    found: `old: ${probe.verdict} (${probe.detail}); new: ${control.map(({ verdict }) => verdict).join(', ')}`,
  };
}

async function refusesHttp(
  { bundle, old, new: next }: ProofOptions,
  { name, address, apiServerPort }: MachineStatus,
  target: CaTarget,
  headers: Readonly<Record<string, string>>,
): Promise<Proof> {
  const ca = bundle.kubernetes.certificate.pem;
  const ask = (credentials: CertificateAndKey): Promise<number | string> =>
    statusOf({ address, port: apiServerPort, ca, credentials, headers });
  const before = await ask(next[target]);
  const refused = await ask(old[target]);
  const after = await ask(next[target]);
  const who = target === 'kubernetes' ? 'kubeconfig' : 'front proxy';
  return {
    what: `${name}: kube-apiserver refuses the old ${who} and takes the new one`,
    holds: before === 200 && refused === 401 && after === 200,
    found: `old: ${refused}; new: ${before}, ${after}`,
  };
}

/** How long one question may take. */
const ASK_MS = 5_000;

function statusOf(options: {
  readonly address: string;
  readonly port: number | undefined;
  readonly ca: string;
  readonly credentials: CertificateAndKey;
  readonly headers: Readonly<Record<string, string>>;
}): Promise<number | string> {
  const { address, port, ca, credentials, headers } = options;
  return new Promise((resolve) => {
    const sent = request(
      {
        host: address,
        port,
        path: '/api/v1/namespaces/default',
        headers,
        ca,
        cert: credentials.certificate.pem,
        key: toPkcs8(credentials.key).expose(),
        agent: false,
        timeout: ASK_MS,
      },
      (reply) => {
        resolve(reply.statusCode ?? 0);
        reply.destroy();
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', (error) => resolve(error.message));
    sent.end();
  });
}
