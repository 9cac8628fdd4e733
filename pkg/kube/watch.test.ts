import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { aStatus, startKubeServer } from '../../test/builders/kube-server.ts';
import { createManualClock } from '../../test/builders/manual-clock.ts';
import type { WatchEvent, WatchRequest } from './index.ts';

const REQUEST: WatchRequest = { path: '/api/v1/nodes', resourceVersion: '7', doing: 'watch the nodes' };

function event(type: string, name: string): string {
  return `${JSON.stringify({ type, object: { metadata: { name } } })}\n`;
}

async function collect(events: AsyncIterable<WatchEvent<{ metadata: { name: string } }>>, into: string[] = []) {
  for await (const { type, object } of events) into.push(`${type} ${object.metadata.name}`);
  return into;
}

describe('a watch', () => {
  it('gives every event, cut wherever the network cut it, and ends when the server ends it', async () => {
    const text = event('ADDED', 'süd') + event('BOOKMARK', '') + event('DELETED', 'nord');
    const bytes = Buffer.from(text);
    await using server = await startKubeServer({
      answer: () => (response) => {
        // Byte by byte, so that lines and even characters come in pieces.
        for (const byte of bytes) response.write(Buffer.from([byte]));
        response.end();
      },
    });

    const events = await collect(server.client().watch(REQUEST));

    expect(events).toEqual(['ADDED süd', 'BOOKMARK ', 'DELETED nord']);
    expect(Object.fromEntries(server.seen[0]?.query ?? [])).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '7',
    });
  });

  it.each([
    [
      'inside the stream',
      () => (response: ServerResponse) =>
        response.end(
          `${JSON.stringify({ type: 'ERROR', object: aStatus(410, 'Expired', 'too old resource version').json })}\n`,
        ),
    ],
    ['at once', () => aStatus(410, 'Expired', 'too old resource version')],
  ])('says that its resource version is too old when the server says so %s', async (_where, answer) => {
    await using server = await startKubeServer({ answer });

    await expect(collect(server.client().watch(REQUEST))).rejects.toMatchObject({ kind: 'expired', status: 410 });
  });

  it('breaks with an error when the connection breaks, and gives what came before', async () => {
    await using server = await startKubeServer({
      answer: () => (response) => {
        response.write(event('ADDED', 'a'), () => setImmediate(() => response.destroy()));
      },
    });
    const seen: string[] = [];

    await expect(collect(server.client().watch(REQUEST), seen)).rejects.toMatchObject({ kind: 'unreachable' });
    expect(seen).toEqual(['ADDED a']);
  });

  it('ends with a timeout when the server has said nothing for too long, as over a half-open connection', async () => {
    const clock = createManualClock();
    await using server = await startKubeServer({ answer: () => (response) => response.write(event('ADDED', 'a')) });
    const seen: string[] = [];

    const watching = collect(server.client({ clock }).watch({ ...REQUEST, idleMs: 60_000 }), seen);
    const outcome = expect(watching).rejects.toMatchObject({
      kind: 'timeout',
      found: 'the server has said nothing for 60000 ms',
    });
    await expect.poll(() => seen).toEqual(['ADDED a']);
    await clock.advance(60_000);

    await outcome;
    await expect.poll(() => server.open()).toBe(0);
  });

  it('goes on as long as bookmarks come', async () => {
    const clock = createManualClock();
    const responses: ServerResponse[] = [];
    await using server = await startKubeServer({
      answer: () => (response) => {
        responses.push(response);
        response.write(event('ADDED', 'a'));
      },
    });
    const seen: string[] = [];

    const watching = collect(server.client({ clock }).watch({ ...REQUEST, idleMs: 60_000 }), seen);
    await expect.poll(() => seen.length).toBe(1);
    await clock.advance(40_000);
    responses[0]?.write(event('BOOKMARK', ''));
    await expect.poll(() => seen.length).toBe(2);
    await clock.advance(40_000);
    responses[0]?.end(event('ADDED', 'b'));

    expect(await watching).toEqual(['ADDED a', 'BOOKMARK ', 'ADDED b']);
  });

  it('ends quietly when the caller gives up, and closes its connection', async () => {
    await using server = await startKubeServer({ answer: () => (response) => response.write(event('ADDED', 'a')) });
    const stop = new AbortController();
    const seen: string[] = [];

    const watching = collect(server.client().watch({ ...REQUEST, signal: stop.signal }), seen);
    await expect.poll(() => seen.length).toBe(1);
    stop.abort();

    expect(await watching).toEqual(['ADDED a']);
    await expect.poll(() => server.open()).toBe(0);
  });

  it('closes its connection when the caller stops reading', async () => {
    await using server = await startKubeServer({ answer: () => (response) => response.write(event('ADDED', 'a')) });

    for await (const _event of server.client().watch(REQUEST)) break;

    await expect.poll(() => server.open()).toBe(0);
  });

  it('does not take a turn away from calls', async () => {
    await using server = await startKubeServer({
      answer: ({ query }) => (query.has('watch') ? (response) => response.write(event('ADDED', 'a')) : { json: {} }),
    });
    const client = server.client({ maxConnections: 1 });
    const watching = client.watch(REQUEST)[Symbol.asyncIterator]();
    await watching.next();

    await client.request({ method: 'GET', path: '/api/v1/nodes', doing: 'list the nodes' });

    expect(server.connections()).toBe(2);
    await watching.return?.();
  });
});
