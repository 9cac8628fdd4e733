import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { aCa } from '../../test/builders/certificates.ts';
import { createConnections } from './connections.ts';

const opened: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close();
});

/** How a probe of a server ends that answers the first bytes of a handshake with this alert. */
async function probeWith(alert: number) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, alert])));
  });
  opened.push(server);
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  );
  const credentials = await aCa('kubernetes');
  return createConnections().probeHttps({ address: '127.0.0.1', port, path: '/pods', credentials });
}

describe('an HTTPS probe', () => {
  it('reaches nobody where nothing listens', async () => {
    const probe = { address: '127.0.0.1', port: 1, path: '/pods', credentials: await aCa('kubernetes') };

    expect(await createConnections().probeHttps(probe)).toMatchObject({ kind: 'unreachable' });
  });

  it.each([
    ['unknown CA', 48],
    ['bad certificate', 42],
    ['certificate unknown', 46],
  ])('is refused for its certificate where the server says %s', async (_name, alert) => {
    expect(await probeWith(alert)).toMatchObject({ kind: 'untrusted-client' });
  });

  it.each([
    ['an internal error, as a kubelet does that waits for its serving certificate', 80],
    ['another version', 70],
    ['a failed handshake', 40],
  ])('says nothing of its certificate where the server says %s', async (_name, alert) => {
    expect(await probeWith(alert)).toMatchObject({ kind: 'failed' });
  });
});
