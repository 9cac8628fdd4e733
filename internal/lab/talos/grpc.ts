import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';

/**
 * gRPC's framing over Node's HTTP/2, rather than the server of grpc-js: apid passes
 * the frames of any method on to other machines unread, judges each connection by
 * its own handshake, and swaps certificates under open ones; grpc-js serves only
 * methods that were registered, over sockets that it accepted itself.
 */

/** Status codes of gRPC, by name. */
export const CODE = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  failedPrecondition: 9,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** How Go spells them in `rpc error: code = …`. */
export const CODE_NAMES: Readonly<Record<number, string>> = {
  0: 'OK',
  1: 'Canceled',
  2: 'Unknown',
  3: 'InvalidArgument',
  4: 'DeadlineExceeded',
  5: 'NotFound',
  6: 'AlreadyExists',
  7: 'PermissionDenied',
  9: 'FailedPrecondition',
  12: 'Unimplemented',
  13: 'Internal',
  14: 'Unavailable',
  16: 'Unauthenticated',
};

/** A refusal with its code. */
export class GrpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'GrpcError';
    this.code = code;
  }
}

/** Limit of Talos, both ways (`constants.GRPCMaxMessageSize`). */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const FRAME_BYTES = 5;

/** One call that came in. */
export interface Call {
  /** `/machine.MachineService/Version`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Fires when the caller goes away. */
  readonly signal: AbortSignal;
  /** Resolves when the caller has read the answer to its end, or is no longer there to read it. */
  over(): Promise<void>;
  /** Values of a metadata key; several in one header are separated by commas. */
  metadata(key: string): readonly string[];
}

/** What is sent back: messages, then a status. */
export interface Reply {
  /** Resolves when the caller can take more. */
  send(message: Uint8Array): Promise<void>;
}

/** One method as the generated service definitions describe it. */
export interface Definition<Request, Response> {
  readonly path: string;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (message: Response) => Buffer;
}

/** A method and what it answers. */
export interface Route<Context> {
  readonly path: string;
  answer(context: Context, call: Call, request: Buffer, reply: Reply): Promise<void>;
}

/** A method with one reply. */
export function unary<Context, Request, Response>(
  definition: Definition<Request, Response>,
  answer: (context: Context, request: Request, call: Call) => Response | Promise<Response>,
): Route<Context> {
  return {
    path: definition.path,
    async answer(context, call, bytes, reply) {
      const response = await answer(context, decode(definition, bytes), call);
      await reply.send(definition.responseSerialize(response));
    },
  };
}

/** A method with any number of replies. */
export function streaming<Context, Request, Response>(
  definition: Definition<Request, Response>,
  answer: (context: Context, request: Request, call: Call) => AsyncIterable<Response> | Iterable<Response>,
): Route<Context> {
  return {
    path: definition.path,
    async answer(context, call, bytes, reply) {
      for await (const response of answer(context, decode(definition, bytes), call)) {
        if (call.signal.aborted) return;
        await reply.send(definition.responseSerialize(response));
      }
    },
  };
}

function decode<Request>(definition: Definition<Request, never>, bytes: Buffer): Request {
  try {
    return definition.requestDeserialize(bytes);
  } catch {
    throw new GrpcError(CODE.internal, 'grpc: error while unmarshaling the request');
  }
}

/** Reads the request of a stream, has it answered, and ends with a status. */
export async function serveCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  answer: (call: Call, request: Buffer, reply: Reply) => Promise<void>,
): Promise<void> {
  const ended = new AbortController();
  const { session } = stream;
  stream.on('error', () => undefined);
  stream.on('close', () => ended.abort());
  const reply: Reply = {
    async send(message) {
      open(stream);
      if (stream.destroyed || stream.closed) return;
      if (stream.write(frame(message))) return;
      await new Promise<void>((resolve) => stream.once('drain', resolve).once('close', resolve));
    },
  };
  const call: Call = {
    path: String(headers[':path']),
    headers,
    signal: ended.signal,
    over: () =>
      new Promise((resolve) => {
        const last = (): void => afterAllSent(session, resolve);
        if (ended.signal.aborted) last();
        else ended.signal.addEventListener('abort', last, { once: true });
      }),
    metadata: (key) => valuesOf(headers[key]),
  };
  let status: GrpcError = new GrpcError(CODE.ok, '');
  try {
    await answer(call, await readRequest(stream), reply);
  } catch (error) {
    status = asGrpcError(error);
  }
  end(stream, status);
}

/** A ping arrives behind all that was sent before it: who answers it has read that. */
function afterAllSent(session: Http2Session | undefined, act: () => void): void {
  if (session === undefined || session.destroyed || !session.ping(() => act())) act();
}

/** Any failure as a status. A plain one is UNKNOWN with its text, as in Go. */
export function asGrpcError(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  return new GrpcError(CODE.unknown, error instanceof Error ? error.message : String(error));
}

function valuesOf(header: string | string[] | undefined): readonly string[] {
  return [header ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((value) => value.trim());
}

/** Header and message as they go over the wire. */
export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(FRAME_BYTES + message.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, FRAME_BYTES);
  return framed;
}

/** Cuts bytes into messages; what is left over waits for more. */
export function createUnframer(): (chunk: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const messages: Buffer[] = [];
    while (rest.length >= FRAME_BYTES) {
      const length = rest.readUInt32BE(1);
      if (rest[0] !== 0) throw new GrpcError(CODE.unimplemented, 'grpc: compressed messages are not supported');
      if (length > MAX_MESSAGE_BYTES) throw new GrpcError(8, `grpc: received message larger than max (${length})`);
      if (rest.length < FRAME_BYTES + length) break;
      messages.push(rest.subarray(FRAME_BYTES, FRAME_BYTES + length));
      rest = rest.subarray(FRAME_BYTES + length);
    }
    return messages;
  };
}

/** The one message of a request. Listened for, not iterated: leaving a loop over a stream would end the call. */
function readRequest(stream: ServerHttp2Stream): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const unframe = createUnframer();
  stream.on('data', (chunk: Buffer) => {
    try {
      const [message] = unframe(chunk);
      if (message !== undefined) resolve(message);
    } catch (error) {
      reject(error);
    }
  });
  stream.on('end', () => reject(new GrpcError(CODE.internal, 'grpc: the request has no message')));
  stream.on('close', () => reject(new GrpcError(CODE.cancelled, 'context canceled')));
  return promise;
}

/** Percent-encoding as gRPC has it: everything but printable ASCII, and the percent sign itself. */
function encodeMessage(message: string): string {
  return [...Buffer.from(message)]
    .map((byte) => {
      const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
      return isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

function open(stream: ServerHttp2Stream): void {
  if (stream.headersSent || stream.destroyed || stream.closed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
}

function end(stream: ServerHttp2Stream, status: GrpcError): void {
  if (stream.destroyed || stream.closed) return;
  const trailers = {
    'grpc-status': String(status.code),
    ...(status.message === '' ? {} : { 'grpc-message': encodeMessage(status.message) }),
  };
  if (!stream.headersSent) {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...trailers }, { endStream: true });
    return;
  }
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end();
}
