import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import type { Certificate } from '../../../pkg/pki/index.ts';
import { readAudit } from '../../e2e/ichor-process.ts';
import type { TalosCluster } from '../../talos/cluster.ts';

/** Where etcd serves clients and peers. */
const PORTS = [2379, 2380] as const;

const EVERY_MS = 2_000;
const TIMEOUT_MS = 3_000;

/** Which CA signed what a control plane's etcd served when Issuing was left. */
export interface ServedLeaves {
  readonly machine: string;
  readonly ports: Readonly<Record<string, 'new' | 'old' | 'unknown'>>;
}

/** Looks at etcd's ports while a rotation is in Issuing. */
export interface LeafWatch extends Disposable {
  /** The last that was seen there, judged by the two CAs. */
  judged(cas: { readonly older: Certificate; readonly newer: Certificate }): ServedLeaves[];
}

/**
 * Shakes hands with both ports of every control plane's etcd while the audit
 * trail says Issuing, apart from the engine and by other means: the probe by
 * which the skipped reboots can be checked.
 */
export function watchServedLeaves(cluster: TalosCluster, directory: string): LeafWatch {
  const seen = new Map<string, X509Certificate>();
  let busy = false;
  const timer = setInterval(() => {
    if (busy || readAudit(directory).at(-1)?.stage !== 'Issuing') return;
    busy = true;
    void lookAtAll(cluster, seen).finally(() => {
      busy = false;
    });
  }, EVERY_MS);
  return {
    judged: ({ older, newer }) =>
      cluster.controlPlanes.map(({ name }) => ({
        machine: name,
        ports: Object.fromEntries(PORTS.map((port) => [port, issuerOf(seen.get(`${name} ${port}`), older, newer)])),
      })),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

async function lookAtAll(cluster: TalosCluster, seen: Map<string, X509Certificate>): Promise<void> {
  for (const { name, address } of cluster.controlPlanes) {
    for (const port of PORTS) {
      const leaf = await servedOn(address, port);
      if (leaf !== undefined) seen.set(`${name} ${port}`, leaf);
    }
  }
}

function issuerOf(leaf: X509Certificate | undefined, older: Certificate, newer: Certificate) {
  const signedBy = (ca: Certificate) => leaf?.verify(new X509Certificate(ca.pem).publicKey) === true;
  if (signedBy(newer)) return 'new';
  return signedBy(older) ? 'old' : 'unknown';
}

/** The certificate that a server shows. etcd asks for ours only after it has shown its own. */
function servedOn(host: string, port: number): Promise<X509Certificate | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false, timeout: TIMEOUT_MS });
    const end = (leaf: X509Certificate | undefined) => {
      socket.destroy();
      resolve(leaf);
    };
    socket.once('secureConnect', () => end(socket.getPeerX509Certificate()));
    socket.once('timeout', () => end(undefined));
    socket.on('error', () => end(undefined));
  });
}
