import { request } from 'node:https';
import { createKubeClient } from '../../pkg/kube/index.ts';
import { toPkcs8 } from '../../pkg/pki/index.ts';
import { createTalosMachine, probeTls } from '../../pkg/talos/index.ts';
import type { Connections, HttpsOutcome, HttpsProbe } from './ports.ts';

/** How long one HTTPS probe may take. */
const PROBE_MS = 5_000;

/** Real sockets. */
export function createConnections(): Connections {
  return {
    talos: ({ name, address, trust, credentials }) => createTalosMachine({ name, address, trust, credentials }),
    kube: createKubeClient,
    probeTls,
    probeHttps,
  };
}

/**
 * One GET with a client certificate over a connection of its own. The server is
 * not verified: the question is only whether it takes our certificate, and
 * kubelets serve self-signed ones. Nothing secret is sent.
 */
function probeHttps(probe: HttpsProbe): Promise<HttpsOutcome> {
  return new Promise((resolve) => {
    const sent = request(
      {
        host: probe.address,
        port: probe.port,
        path: probe.path,
        method: 'GET',
        headers: probe.headers,
        cert: probe.credentials.certificate.pem,
        key: toPkcs8(probe.credentials.key).expose(),
        rejectUnauthorized: false,
        agent: false,
        timeout: PROBE_MS,
      },
      (reply) => {
        resolve({ kind: 'answered', status: reply.statusCode ?? 0 });
        reply.destroy();
      },
    );
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${PROBE_MS / 1000} s`)));
    sent.on('error', (error) => resolve(endOf(error)));
    sent.end();
  });
}

function endOf(error: Error): HttpsOutcome {
  const isAlert = 'code' in error && typeof error.code === 'string' && error.code.startsWith('ERR_SSL_TLSV1');
  return { kind: isAlert ? 'untrusted-client' : 'unreachable', message: error.message };
}
