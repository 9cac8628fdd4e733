import { constants, createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import { VersionResponse } from '../../../proto/generated/talos/machine.ts';
import { aClient, aServerLeaf, aTalosCa } from '../../../test/builders/talos-server.ts';
import { toPkcs8 } from '../../pki/index.ts';
import { createTalosMachine, TalosError, type TalosMachine } from '../index.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const item of opened.splice(0).reverse()) item.close();
});

/** A machine that answers each request with whatever HTTP/2 allows. */
async function aMachine(answer: (stream: ServerHttp2Stream) => void): Promise<TalosMachine> {
  const ca = await aTalosCa();
  const leaf = await aServerLeaf(ca);
  const server: Http2SecureServer = createSecureServer({
    ca: ca.certificate.pem,
    cert: leaf.certificate.pem,
    key: toPkcs8(leaf.key).expose(),
    requestCert: true,
  });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.resume();
    answer(stream);
  });
  server.on('sessionError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const machine = createTalosMachine({
    name: 'cp1',
    address: '127.0.0.1',
    port: typeof address === 'object' && address !== null ? address.port : 0,
    trust: [ca.certificate],
    credentials: await aClient(ca),
  });
  opened.push(server, machine);
  return machine;
}

async function failureOf(machine: TalosMachine): Promise<TalosError> {
  const error = await machine.version({ deadlineMs: 3_000 }).catch((reason: unknown) => reason);
  if (error instanceof TalosError) return error;
  throw new Error(`expected a TalosError, got ${String(error)}`);
}

function framed(body: Uint8Array, compressed = 0): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt8(compressed, 0);
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
}

const aReply = VersionResponse.encode(
  VersionResponse.fromPartial({ messages: [{ version: { tag: 'v1.14.1' } }] }),
).finish();

function reply(stream: ServerHttp2Stream, bytes: readonly Buffer[], trailers: Record<string, string>): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  for (const part of bytes) stream.write(part);
  stream.end();
}

describe('a request that the machine says it never looked at', () => {
  it('is not done when its stream was refused', async () => {
    const machine = await aMachine((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));

    expect(await failureOf(machine)).toMatchObject({ kind: 'interrupted', outcome: 'not-done' });
  });

  it('is not done when the connection was given up before it', async () => {
    let answered = 0;
    const machine = await aMachine((stream) => {
      answered = answered === 0 ? (stream.id ?? 0) : answered;
      if (answered === stream.id) reply(stream, [framed(aReply)], { 'grpc-status': '0' });
      else stream.session?.goaway(constants.NGHTTP2_NO_ERROR, answered);
    });
    await machine.version();

    expect(await failureOf(machine)).toMatchObject({ kind: 'interrupted', outcome: 'not-done' });
  });
});

describe('a request that the machine may have looked at', () => {
  it('is unknown when its stream was reset', async () => {
    const machine = await aMachine((stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR));

    expect(await failureOf(machine)).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
  });

  it('is unknown when the connection was given up after it', async () => {
    const machine = await aMachine((stream) => {
      stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id);
      stream.close(constants.NGHTTP2_CANCEL);
    });

    expect(await failureOf(machine)).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
  });

  it('is unknown when the reply ends without a status', async () => {
    const machine = await aMachine((stream) => reply(stream, [framed(aReply)], {}));

    expect(await failureOf(machine)).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
  });

  it('is unknown when the reply ends inside a message', async () => {
    const machine = await aMachine((stream) => reply(stream, [framed(aReply).subarray(0, 7)], { 'grpc-status': '0' }));

    expect(await failureOf(machine)).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
  });
});

describe('a reply', () => {
  it('may come in pieces of any size', async () => {
    const machine = await aMachine((stream) => {
      const bytes = framed(aReply);
      reply(
        stream,
        Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)),
        { 'grpc-status': '0' },
      );
    });

    expect((await machine.version()).tag).toBe('v1.14.1');
  });

  it.each([
    ['is not what the method returns', [framed(Buffer.from([0xff, 0xff, 0xff]))]],
    ['is compressed', [framed(aReply, 1)]],
    ['comes twice', [framed(aReply), framed(aReply)]],
    ['does not come', []],
  ])('that %s is malformed', async (_name, bytes) => {
    const machine = await aMachine((stream) => reply(stream, bytes, { 'grpc-status': '0' }));

    expect(await failureOf(machine)).toMatchObject({ kind: 'malformed', outcome: 'unknown' });
  });

  it('of a server that is no gRPC server is malformed and says its HTTP status', async () => {
    const machine = await aMachine((stream) => {
      stream.respond({ ':status': 404 });
      stream.end('not here');
    });

    expect((await failureOf(machine)).message).toContain('HTTP status 404 instead of a gRPC reply');
  });

  it('that is an error has its text decoded', async () => {
    const machine = await aMachine((stream) => {
      stream.respond({ ':status': 200, 'grpc-status': '3', 'grpc-message': 'b%C3%A4d' }, { endStream: true });
    });

    expect((await failureOf(machine)).message).toBe('invalid: Version on cp1: bäd');
  });
});
