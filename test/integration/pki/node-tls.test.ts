import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import {
  type Certificate,
  type CertificateAndKey,
  kubernetesAdminProfile,
  toPkcs8,
  writeCertificates,
} from '../../../pkg/pki/index.ts';
import { aCa, aLeaf } from '../../builders/certificates.ts';

const now = Date.now();

/** Greets each client over mutual TLS; gives what the client read, or why it did not. */
async function greet(
  server: CertificateAndKey,
  client: CertificateAndKey,
  trust: { readonly server: readonly Certificate[]; readonly client: readonly Certificate[] },
): Promise<string> {
  const listener = createServer(
    {
      cert: server.certificate.pem,
      key: toPkcs8(server.key).expose(),
      ca: writeCertificates(trust.server),
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
    },
    (socket) => socket.end('hello'),
  );
  listener.on('tlsClientError', () => undefined);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const socket = connect({
    port,
    host: '127.0.0.1',
    ca: writeCertificates(trust.client),
    cert: client.certificate.pem,
    key: toPkcs8(client.key).expose(),
  });
  try {
    return await firstWord(socket);
  } finally {
    socket.destroy();
    listener.close();
  }
}

/** The first data, the first error's code, or how the connection closed without either. */
function firstWord(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(data.toString()));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('close', () => resolve('closed without a word'));
  });
}

describe('Node and its OpenSSL, over mutual TLS 1.3', () => {
  for (const target of ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const) {
    it(`let old and new ${target} leaves meet while both trust both CAs, in both orders`, async () => {
      const [old, fresh] = [await aCa(target, { now }), await aCa(target, { now })];
      const leaf = (ca: CertificateAndKey) => aLeaf(ca, { now, usages: ['server', 'client'], ips: ['127.0.0.1'] });
      const leaves = [await leaf(old), await leaf(fresh)];
      const both = [old.certificate, fresh.certificate];

      for (const roots of [both, [...both].reverse()]) {
        for (const server of leaves) {
          for (const client of leaves) {
            expect(await greet(server, client, { server: roots, client: roots })).toBe('hello');
          }
        }
      }
    });
  }

  it('refuse either side when its CA is not trusted', async () => {
    const [old, fresh] = [await aCa('talos', { now }), await aCa('talos', { now })];
    const both = [old.certificate, fresh.certificate];
    const server = await aLeaf(fresh, { now, usages: ['server'], ips: ['127.0.0.1'] });
    const client = await aLeaf(fresh, kubernetesAdminProfile({ now }));

    // Node's server sends along what it finds in its own trust: the root that the client does not know.
    expect(await greet(server, client, { server: both, client: [old.certificate] })).toBe('SELF_SIGNED_CERT_IN_CHAIN');
    // Node's server verifies after the handshake and hangs up without an alert.
    expect(await greet(server, client, { server: [old.certificate], client: both })).toMatch(
      /^closed without a word$|^ECONNRESET$/,
    );
  });
});
