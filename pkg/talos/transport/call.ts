import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import type { Connection } from './connection.ts';
import { errorText, TransportFailure } from './failure.ts';
import { statusFailure } from './status.ts';

/** Talos's own limit, both ways (`constants.GRPCMaxMessageSize`). */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const FRAME_HEADER_BYTES = 5;

/** One method as the generated service definitions describe it. */
export interface Method<Request, Reply> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Reply;
}

/**
 * Sends one request and yields the replies, one for a unary method. Leaving the
 * loop early, or `signal`, resets the stream.
 *
 * @throws {TransportFailure} the machine's refusal; `interrupted` when the connection broke; `too-large`,
 * `malformed`; or the reason of `signal`
 */
export async function* exchange<Request, Reply>(
  connection: Connection,
  method: Method<Request, Reply>,
  request: Request,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): AsyncGenerator<Reply, void, undefined> {
  const body = method.requestSerialize(request);
  if (body.length > MAX_MESSAGE_BYTES) throw tooLarge('the request', body.length, 'not-done');
  const stream = openStream(connection, headersOf(method.path, options.timeoutMs));
  const abort = () => stream.close(constants.NGHTTP2_CANCEL);
  options.signal.addEventListener('abort', abort, { once: true });
  const ending = listenForEnd(stream);
  try {
    stream.end(frame(body));
    for await (const message of messagesOf(stream, ending.httpRefusal)) yield deserialize(method, message);
    const failure = await ending.failure(connection);
    if (options.signal.aborted) throw options.signal.reason;
    if (failure !== undefined) throw failure;
  } catch (error) {
    if (options.signal.aborted) throw options.signal.reason;
    if (error instanceof TransportFailure) throw error;
    throw brokenStream(connection, stream, error);
  } finally {
    options.signal.removeEventListener('abort', abort);
    stream.on('error', () => {});
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }
}

function openStream(connection: Connection, headers: OutgoingHttpHeaders): ClientHttp2Stream {
  try {
    return connection.request(headers);
  } catch (cause) {
    // The connection ended since it was chosen: without a stream nothing can have left.
    throw new TransportFailure('interrupted', 'not-done', `the connection has ended: ${errorText(cause)}`, cause);
  }
}

function headersOf(path: string, timeoutMs: number) {
  return {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': `${Math.max(1, Math.min(99_999_999, Math.round(timeoutMs)))}m`,
    'user-agent': 'ichor',
  };
}

function frame(body: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(FRAME_HEADER_BYTES + body.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(body.length, 1);
  body.copy(framed, FRAME_HEADER_BYTES);
  return framed;
}

/** Cuts the bytes of a stream into messages; refuses one that is too long before it is read. */
async function* messagesOf(
  stream: ClientHttp2Stream,
  httpRefusal: () => TransportFailure | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  let chunks: Buffer[] = [];
  let buffered = 0;
  let wanted = FRAME_HEADER_BYTES;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const refusal = httpRefusal();
    if (refusal !== undefined) throw refusal;
    chunks.push(chunk);
    buffered += chunk.length;
    if (buffered < wanted) continue;
    let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    for (;;) {
      if (rest.length < FRAME_HEADER_BYTES) {
        wanted = FRAME_HEADER_BYTES;
        break;
      }
      wanted = FRAME_HEADER_BYTES + lengthOf(rest);
      if (rest.length < wanted) break;
      yield rest.subarray(FRAME_HEADER_BYTES, wanted);
      rest = rest.subarray(wanted);
    }
    chunks = [rest];
    buffered = rest.length;
  }
  if (buffered > 0) throw new TransportFailure('interrupted', 'unknown', 'the reply ended in the middle of a message');
}

function lengthOf(header: Buffer): number {
  if (header[0] !== 0) {
    throw new TransportFailure('malformed', 'unknown', 'the reply is compressed, which was not asked for');
  }
  const length = header.readUInt32BE(1);
  if (length > MAX_MESSAGE_BYTES) throw tooLarge('the reply', length, 'unknown');
  return length;
}

function tooLarge(what: string, bytes: number, outcome: 'not-done' | 'unknown'): TransportFailure {
  const limit = MAX_MESSAGE_BYTES / 1024 / 1024;
  return new TransportFailure('too-large', outcome, `${what} has ${bytes} bytes, more than the limit of ${limit} MiB`);
}

function deserialize<Reply>(method: Method<never, Reply>, message: Buffer): Reply {
  try {
    return method.responseDeserialize(message);
  } catch (cause) {
    throw new TransportFailure('malformed', 'unknown', `the reply is not what the method returns: ${errorText(cause)}`);
  }
}

/** How a stream ended, from its headers and trailers. */
interface Ending {
  /** For a peer that answers in HTTP only. */
  httpRefusal(): TransportFailure | undefined;
  /** To be asked once the stream was read to its end. */
  failure(connection: Connection): Promise<TransportFailure | undefined>;
}

function listenForEnd(stream: ClientHttp2Stream): Ending {
  let headers: IncomingHttpHeaders | undefined;
  let trailers: IncomingHttpHeaders | undefined;
  stream.once('response', (received) => {
    headers = received;
  });
  stream.once('trailers', (received) => {
    trailers = received;
  });
  const httpRefusal = () => {
    const http = headers?.[':status'];
    if (http === undefined || Number(http) === 200) return undefined;
    return new TransportFailure('malformed', 'unknown', `HTTP status ${String(http)} instead of a gRPC reply`);
  };
  return {
    httpRefusal,
    async failure(connection) {
      if (!stream.closed) await new Promise<void>((resolve) => stream.once('close', resolve));
      const last = trailers ?? headers ?? {};
      const status = last['grpc-status'];
      if (status !== undefined) return statusFailure(Number(status), decodeMessage(last['grpc-message']));
      return httpRefusal() ?? brokenStream(connection, stream, new Error('the connection ended before the reply'));
    },
  };
}

function decodeMessage(message: string | string[] | undefined): string {
  const text = Array.isArray(message) ? message.join(', ') : (message ?? '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function brokenStream(connection: Connection, stream: ClientHttp2Stream, cause: unknown): TransportFailure {
  if (connection.unseen(stream)) {
    return new TransportFailure(
      'interrupted',
      'not-done',
      'the machine closed the connection without looking at the request',
      cause,
    );
  }
  return new TransportFailure(
    'interrupted',
    'unknown',
    `the connection broke after the request was sent: ${errorText(cause)}`,
    cause,
  );
}
