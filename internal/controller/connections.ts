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

/**
 * Numbers of the alerts that say that our certificate is not accepted: bad certificate, certificate unknown, unknown CA,
 * access denied (RFC 8446, 6.2). Others do not: a kubelet that waits for its own serving certificate
 * (`serverTLSBootstrap`) ends every handshake with an internal error.
 */
const REFUSALS: readonly number[] = [42, 46, 48, 49];

function endOf(error: Error): HttpsOutcome {
  const message = error.message.trim();
  const code = 'code' in error ? String(error.code) : '';
  // Node gives an alert within the handshake as EPROTO, one after it by its name; OpenSSL's text has the number of both.
  const alert = /SSL alert number (\d+)/.exec(message)?.[1];
  if (REFUSALS.includes(Number(alert))) return { kind: 'untrusted-client', message };
  return { kind: code === 'EPROTO' || code.startsWith('ERR_SSL_') ? 'failed' : 'unreachable', message };
}
