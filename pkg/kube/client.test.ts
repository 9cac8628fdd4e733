import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { aCa, aLeaf } from '../../test/builders/certificates.ts';
import { aStatus, startKubeServer } from '../../test/builders/kube-server.ts';
import { Secret } from '../pki/index.ts';
import { createKubeClient, type KubeError, type KubeRequest, pathOf } from './index.ts';

const READ: KubeRequest = { method: 'GET', path: '/api/v1/nodes', doing: 'list the nodes' };
const WRITE: KubeRequest = {
  method: 'POST',
  path: '/api/v1/namespaces',
  body: { metadata: { name: 'x' } },
  contentType: 'application/json',
  doing: 'create the namespace x',
};

async function failureOf(call: Promise<unknown>): Promise<KubeError> {
  return await call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error: KubeError) => error,
  );
}

/** A TCP server on a loopback port that takes connections and says nothing, or what the test wants. */
async function aSilentServer(onConnection: (socket: import('node:net').Socket) => void = () => undefined) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `https://127.0.0.1:${port}`, close: () => server.close() };
}

describe('a client of one API server', () => {
  it('sends what it was told with the content type that it was told, and gives back fields that nobody named', async () => {
    await using server = await startKubeServer({
      answer: () => ({ json: { metadata: { name: 'x' }, surprise: [1] } }),
    });

    const made = await server.client().request(WRITE);

    expect(made).toEqual({ metadata: { name: 'x' }, surprise: [1] });
    expect(server.seen).toMatchObject([
      {
        method: 'POST',
        path: '/api/v1/namespaces',
        headers: { 'content-type': 'application/json', accept: 'application/json', 'user-agent': 'ichor' },
        body: { metadata: { name: 'x' } },
      },
    ]);
  });

  it('keeps one connection for calls in a row', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });
    const client = server.client();

    for (let call = 0; call < 5; call += 1) await client.request(READ);

    expect(server.connections()).toBe(1);
  });

  it('opens no more connections than it may, and serves every call over them', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });
    const client = server.client({ maxConnections: 3 });

    await Promise.all(Array.from({ length: 40 }, () => client.request(READ)));

    expect([server.seen.length, server.connections()]).toEqual([40, 3]);
  });

  it('makes a new connection for each fresh call and closes it after', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });
    const client = server.client();
    await client.request(READ);

    await client.request({ ...READ, fresh: true });
    await client.request({ ...READ, fresh: true });

    expect(server.connections()).toBe(3);
    await expect.poll(() => server.open()).toBe(1);
  });

  it('sends a bearer token', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });

    await server.client({ credentials: { kind: 'token', token: Secret.of('bearer-token', 'abc') } }).request(READ);

    expect(server.seen[0]?.headers.authorization).toBe('Bearer abc');
  });

  it('asks a plugin for its credentials at each call, because only the plugin knows when they end', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });
    let given = 0;
    const client = server.client({
      credentials: {
        kind: 'plugin',
        name: 'cloud login',
        resolve: async () => {
          given += 1;
          return { token: Secret.of('bearer-token', `t${given}`) };
        },
      },
    });

    await client.request(READ);
    await client.request(READ);

    const tokens = server.seen.map((request) => request.headers.authorization);
    expect(new Set(tokens).size).toBe(2);
  });

  it('says which plugin gave nothing', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });
    const resolve = async () => {
      throw new Error('aws: not found');
    };
    const client = server.client({ credentials: { kind: 'plugin', name: 'user "me" of ~/.kube/config', resolve } });

    const error = await failureOf(client.request(WRITE));

    expect(error).toMatchObject({ kind: 'unauthorized', outcome: 'not-done' });
    expect(error.message).toContain('could not get credentials from user "me" of ~/.kube/config');
    expect(error.message).toContain('aws: not found');
  });

  it('does not wait for a plugin beyond the deadline of the call', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });
    const client = server.client({
      credentials: { kind: 'plugin', name: 'cloud login', resolve: () => new Promise(() => undefined) },
    });

    const error = await failureOf(client.request({ ...WRITE, deadlineMs: 50 }));

    expect(error).toMatchObject({ kind: 'timeout', outcome: 'not-done' });
  });

  it.each(['http://10.0.0.1:6443', 'https://10.0.0.1:6443/path', '10.0.0.1:6443', 'https://me@10.0.0.1'])(
    'refuses %s as an API server',
    async (server) => {
      const { certificate } = await aCa('kubernetes');

      expect(() => createKubeClient({ server, trust: [certificate], credentials: { kind: 'anonymous' } })).toThrow(
        `an API server is given as https://host:port, not as "${server}"`,
      );
    },
  );

  it('refuses to be made without a CA to verify the server with', () => {
    expect(() =>
      createKubeClient({ server: 'https://10.0.0.1:6443', trust: [], credentials: { kind: 'anonymous' } }),
    ).toThrow('no CA was given to verify https://10.0.0.1:6443 with');
  });

  it('escapes what goes into a path, and refuses a part that would name something else', () => {
    expect(pathOf('api', 'v1', 'nodes', 'a/../b?c')).toBe('/api/v1/nodes/a%2F..%2Fb%3Fc');
    expect(() => pathOf('api', 'v1', 'nodes', '')).toThrow('a path cannot have the part ""');
    expect(() => pathOf('api', '..')).toThrow('a path cannot have the part ".."');
  });
});

describe('a call that fails', () => {
  it('was not done when nobody listens', async () => {
    const nobody = await aSilentServer();
    nobody.close();
    const { certificate } = await aCa('kubernetes');
    const client = createKubeClient({ server: nobody.url, trust: [certificate], credentials: { kind: 'anonymous' } });

    const error = await failureOf(client.request(WRITE));

    expect(error).toMatchObject({ kind: 'unreachable', outcome: 'not-done', transient: true, server: nobody.url });
    expect(error.message).toMatch(/^unreachable: could not create the namespace x on https:.*ECONNREFUSED/);
  });

  it('may have been done when the connection breaks after a write was sent, and is not sent again', async () => {
    await using server = await startKubeServer({ answer: () => (response) => response.destroy() });

    const error = await failureOf(server.client().request(WRITE));

    expect(error).toMatchObject({ kind: 'unreachable', outcome: 'unknown' });
    expect(server.seen).toHaveLength(1);
  });

  it('changed nothing when it was a read or a dry run, however it ended', async () => {
    await using server = await startKubeServer({ answer: () => (response) => response.destroy() });
    const client = server.client();

    const read = await failureOf(client.request(READ));
    const dryRun = await failureOf(client.request({ ...WRITE, query: { dryRun: 'All' } }));

    expect([read.outcome, dryRun.outcome]).toEqual(['not-done', 'not-done']);
  });

  it('may have been done when the reply breaks off in the middle', async () => {
    await using server = await startKubeServer({
      answer: () => (response) => {
        response.writeHead(201, { 'content-length': '100' });
        response.write('{"metadata"', () => response.destroy());
      },
    });

    expect(await failureOf(server.client().request(WRITE))).toMatchObject({ kind: 'unreachable', outcome: 'unknown' });
  });

  it('may have been done when the deadline passes without a reply; the connection is not used again', async () => {
    await using server = await startKubeServer({
      answer: (request) => (request.method === 'POST' ? () => undefined : { json: {} }),
    });
    const client = server.client();

    const error = await failureOf(client.request({ ...WRITE, deadlineMs: 50 }));
    await client.request(READ);

    expect(error).toMatchObject({ kind: 'timeout', outcome: 'unknown', transient: true });
    expect(error.message).toContain('not finished within 50 ms, while waiting for the reply');
    expect(server.seen.map((request) => request.connection)).toEqual([1, 2]);
  });

  it('was not done when the deadline passes while all connections are busy', async () => {
    await using server = await startKubeServer({ answer: () => () => undefined });
    const client = server.client({ maxConnections: 1 });
    const first = failureOf(client.request({ ...WRITE, deadlineMs: 300 }));

    const second = await failureOf(client.request({ ...WRITE, deadlineMs: 100 }));

    expect(second).toMatchObject({ kind: 'timeout', outcome: 'not-done' });
    expect((await first).outcome).toBe('unknown');
    expect(server.seen).toHaveLength(1);
  });

  it('was not done when TCP is taken and TLS is never answered, as by a frozen process', async () => {
    const frozen = await aSilentServer();
    const { certificate } = await aCa('kubernetes');
    const client = createKubeClient({
      server: frozen.url,
      trust: [certificate],
      credentials: { kind: 'anonymous' },
      connectDeadlineMs: 50,
    });

    const error = await failureOf(client.request(WRITE));
    frozen.close();

    expect(error).toMatchObject({ kind: 'timeout', outcome: 'not-done' });
    expect(error.found).toBe('TCP was connected and the TLS handshake was not answered within 50 ms');
  });

  it('was not done when the connection is closed before TLS is there', async () => {
    const closing = await aSilentServer((socket) => socket.destroy());
    const { certificate } = await aCa('kubernetes');
    const client = createKubeClient({ server: closing.url, trust: [certificate], credentials: { kind: 'anonymous' } });

    const error = await failureOf(client.request(WRITE));
    closing.close();

    expect(error).toMatchObject({ kind: 'unreachable', outcome: 'not-done' });
  });

  it('is told apart from a server that does not speak TLS', async () => {
    const plain = await aSilentServer((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const { certificate } = await aCa('kubernetes');
    const client = createKubeClient({ server: plain.url, trust: [certificate], credentials: { kind: 'anonymous' } });

    const error = await failureOf(client.request(WRITE));
    plain.close();

    expect(error).toMatchObject({ kind: 'unexpected-reply', outcome: 'not-done', transient: false });
  });

  it('ends at once when the caller gives up, and takes its connection with it', async () => {
    await using server = await startKubeServer({ answer: () => () => undefined });
    const stop = new AbortController();

    const call = failureOf(server.client().request({ ...WRITE, signal: stop.signal }));
    await expect.poll(() => server.seen.length).toBe(1);
    stop.abort();

    expect(await call).toMatchObject({ kind: 'cancelled', outcome: 'unknown', transient: false });
    await expect.poll(() => server.open()).toBe(0);
  });

  it('is not even sent when the caller had given up before', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });

    const error = await failureOf(server.client().request({ ...WRITE, signal: AbortSignal.abort() }));

    expect(error).toMatchObject({ kind: 'cancelled', outcome: 'not-done' });
    expect(server.seen).toHaveLength(0);
  });

  it('ends when the client is closed', async () => {
    await using server = await startKubeServer({ answer: () => () => undefined });
    const client = server.client();

    const call = failureOf(client.request(WRITE));
    await expect.poll(() => server.seen.length).toBe(1);
    client.close();

    expect(await call).toMatchObject({ kind: 'cancelled', outcome: 'unknown' });
    expect(await failureOf(client.request(READ))).toMatchObject({ kind: 'cancelled' });
  });

  it('is refused when the reply is larger than allowed, without reading it all', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: { data: 'x'.repeat(5_000_000) } }) });

    const error = await failureOf(server.client().request({ ...READ, maxReplyBytes: 100_000 }));

    expect(error).toMatchObject({ kind: 'too-large', outcome: 'not-done' });
    expect(error.found).toBe('the reply is larger than 100000 bytes');
  });

  it('takes a reply of 8 MB', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: { data: 'x'.repeat(8_000_000) } }) });

    const reply = await server.client().request<{ data: string }>(READ);

    expect(reply.data).toHaveLength(8_000_000);
  });

  it('may have been done when the server says so with something that is not JSON', async () => {
    await using server = await startKubeServer({ answer: () => (response) => response.end('<html>') });

    expect(await failureOf(server.client().request(WRITE))).toMatchObject({
      kind: 'unexpected-reply',
      outcome: 'unknown',
      status: 200,
    });
  });

  it('never carries the token in its text', async () => {
    await using server = await startKubeServer({ answer: () => aStatus(401, 'Unauthorized', 'Unauthorized') });
    const token = Secret.of('bearer-token', 'very-secret-token');

    const error = await failureOf(server.client({ credentials: { kind: 'token', token } }).request(READ));

    expect(JSON.stringify(error) + error.stack).not.toContain('very-secret-token');
  });
});

describe('a client that presents a certificate', () => {
  it('is let in with one of the CA that the server trusts', async () => {
    const clients = await aCa('kubernetes', { now: Date.now() });
    await using server = await startKubeServer({ answer: () => ({ json: {} }), onlyClientsOf: clients });
    const admin = await aLeaf(clients, { now: Date.now() });

    await server.client({ credentials: { kind: 'certificate', ...admin } }).request(READ);

    expect(server.seen).toHaveLength(1);
  });

  it('shows what its plugin gives now, not what it gave before', async () => {
    const clients = await aCa('kubernetes', { now: Date.now() });
    await using server = await startKubeServer({ answer: () => ({ json: {} }), onlyClientsOf: clients });
    const leaf = await aLeaf(clients, { now: Date.now() });
    const admin = { certificatePem: leaf.certificate.pem, key: leaf.key };
    const given = [admin, {}, admin];
    const resolve = async () => given[0] ?? {};
    const client = server.client({ credentials: { kind: 'plugin', name: 'cloud login', resolve } });

    const seen: unknown[] = [];
    for (; given.length > 0; given.shift())
      seen.push(await client.request({ ...READ, fresh: true }).catch((error: KubeError) => error.kind));

    expect(seen).toEqual([{}, 'untrusted-client', {}]);
  });

  it('learns that the server wants a certificate, which is no unreachable server, and that nothing was done', async () => {
    const clients = await aCa('kubernetes', { now: Date.now() });
    await using server = await startKubeServer({ answer: () => ({ json: {} }), onlyClientsOf: clients });

    const error = await failureOf(server.client().request(WRITE));

    expect(error).toMatchObject({ kind: 'untrusted-client', outcome: 'not-done', transient: false });
    expect(error.found).toContain('the server refused our client certificate');
  });

  it('can use a key under the label that Talos gives Ed25519 keys', async () => {
    const clients = await aCa('talos', { now: Date.now() });
    await using server = await startKubeServer({ answer: () => ({ json: {} }), onlyClientsOf: clients });
    const admin = await aLeaf(clients, { now: Date.now() });

    await server.client({ credentials: { kind: 'certificate', ...admin } }).request(READ);

    expect(admin.key.expose()).toContain('BEGIN ED25519 PRIVATE KEY');
    expect(server.seen).toHaveLength(1);
  });
});
