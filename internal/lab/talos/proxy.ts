import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { type Certificate, type CertificateAndKey, toPkcs8 } from '../../../pkg/pki/index.ts';
import { type Call, CODE, createUnframer, frame, GrpcError } from './grpc.ts';
import { createQueue } from './queue.ts';

/** Who an apid is to the others, and whom it takes them for. */
export interface ProxyIdentity {
  readonly trust: readonly Certificate[];
  readonly credentials: CertificateAndKey;
}

/** Connections of one apid to others, over which it passes calls on. */
export interface ApidProxy {
  /** The replies of another machine to a call, as they come. Throws its status as a {@link GrpcError}. */
  forward(address: string, call: Call, request: Buffer, roles: readonly string[]): AsyncIterable<Buffer>;
  /** Opens no new stream over the connections that are there: the next call makes its own, with what is trusted then. */
  flush(): void;
  close(): void;
}

/** Metadata that stays between the caller and the apid that he reached. */
const NOT_PASSED_ON = new Set(['node', 'nodes', 'talos-role', 'proxyfrom', 'host', 'te', 'content-type', 'connection']);

/** A connection to another apid, and how many calls are on it. */
interface Line {
  readonly opened: Promise<ClientHttp2Session>;
  calls: number;
  /** Takes no new calls, and is closed when the last one is over. */
  isRetired: boolean;
}

/** No connection yet; `identity` is asked for each one. */
export function createProxy(options: { readonly port: number; identity(): ProxyIdentity }): ApidProxy {
  const lines = new Map<string, Line>();

  function lineTo(address: string): Line {
    const known = lines.get(address);
    if (known !== undefined) return known;
    const line = { opened: dial(address, options.port, options.identity()), calls: 0, isRetired: false };
    lines.set(address, line);
    const forget = (): void => {
      if (lines.get(address) === line) lines.delete(address);
    };
    line.opened.then((session) => session.once('close', forget), forget);
    return line;
  }

  function closeIdle(line: Line): void {
    if (line.isRetired && line.calls === 0) line.opened.then((session) => session.close()).catch(() => undefined);
  }

  return {
    async *forward(address, call, request, roles) {
      const line = lineTo(address);
      line.calls += 1;
      try {
        const upstream = (await line.opened).request(headersOf(call, roles, address));
        call.signal.addEventListener('abort', () => upstream.close(constants.NGHTTP2_CANCEL), { once: true });
        upstream.end(frame(request));
        yield* repliesOf(upstream);
      } finally {
        line.calls -= 1;
        closeIdle(line);
      }
    },
    flush() {
      const retired = [...lines.values()];
      lines.clear();
      for (const line of retired) {
        line.isRetired = true;
        closeIdle(line);
      }
    },
    close() {
      for (const { opened } of lines.values()) opened.then((session) => session.destroy()).catch(() => undefined);
      lines.clear();
    },
  };
}

function headersOf(call: Call, roles: readonly string[], address: string) {
  const passed = Object.entries(call.headers).filter(([name]) => !name.startsWith(':') && !NOT_PASSED_ON.has(name));
  return {
    ...Object.fromEntries(passed),
    ':method': 'POST',
    ':path': call.path,
    'content-type': 'application/grpc',
    te: 'trailers',
    proxyfrom: String(call.headers[':authority'] ?? address),
    'talos-role': roles.join(','),
  };
}

/**
 * Connects, and waits for the other side's settings: a server that does not take our
 * certificate says so only after the handshake, in their place.
 */
function dial(address: string, port: number, { trust, credentials }: ProxyIdentity): Promise<ClientHttp2Session> {
  const { promise, resolve, reject } = Promise.withResolvers<ClientHttp2Session>();
  const fail = (error: Error): void => reject(unavailable(describe(error, address, port)));
  const socket = connectTls({
    host: address,
    port,
    ca: trust.map(({ pem }) => pem),
    cert: credentials.certificate.pem,
    key: toPkcs8(credentials.key).expose(),
    ALPNProtocols: ['h2'],
    minVersion: 'TLSv1.3',
  });
  socket.on('error', fail);
  socket.once('close', () => fail(new Error('EOF')));
  socket.once('secureConnect', () => {
    const session = connect(`https://${address}:${port}`, { createConnection: () => socket });
    session.on('error', fail);
    session.once('close', () => fail(new Error('EOF')));
    session.once('remoteSettings', () => resolve(session));
  });
  return promise;
}

/** In the words of grpc-go, as far as people know them. */
function describe(error: Error, address: string, port: number): string {
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED') {
    return `transport: Error while dialing: dial tcp ${address}:${port}: connect: connection refused`;
  }
  if (/ALERT_UNKNOWN_CA/.test(code))
    return 'error reading server preface: remote error: tls: unknown certificate authority';
  if (/ALERT/.test(code)) return `error reading server preface: remote error: ${error.message}`;
  if (/VERIFY|CERT|SIGN|ISSUER/.test(code)) {
    const why = 'x509: certificate signed by unknown authority';
    return `transport: authentication handshake failed: tls: failed to verify certificate: ${why}`;
  }
  return `error reading server preface: ${error.message}`;
}

function unavailable(description: string): GrpcError {
  return new GrpcError(CODE.unavailable, `connection error: desc = "${description}"`);
}

async function* repliesOf(upstream: ClientHttp2Stream): AsyncGenerator<Buffer> {
  const queue = createQueue<Buffer>();
  const unframe = createUnframer();
  let status: IncomingHttpHeaders = {};
  upstream.on('response', (headers) => {
    if (headers['grpc-status'] !== undefined) status = headers;
  });
  upstream.on('trailers', (trailers) => {
    status = trailers;
  });
  upstream.on('data', (chunk: Buffer) => {
    for (const message of unframe(chunk)) queue.push(message);
  });
  upstream.on('error', () => undefined);
  upstream.on('close', () => queue.end());
  yield* queue;
  const code = status['grpc-status'];
  if (code === undefined) throw unavailable('error reading from server: EOF');
  if (Number(code) !== CODE.ok) {
    throw new GrpcError(Number(code), decodeURIComponent(String(status['grpc-message'] ?? '')));
  }
}
