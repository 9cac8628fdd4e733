import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type Http2ServerRequest } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { type Certificate, certificateFromDer } from '../../../pkg/pki/index.ts';
import { createTlsListener, type TlsListener, type TlsMaterial } from '../tls-listener.ts';

/** A request over either version of HTTP. */
export type Request = IncomingMessage | Http2ServerRequest;
/** The reply to one; that of HTTP/2 has the same methods. */
export type Response = ServerResponse;

/** A process that listens, with what it serves. A process has one port for as long as it runs. */
export interface Process {
  readonly port: number;
  readonly material: TlsMaterial;
  readonly instance: number;
  readonly isFrozen: boolean;
}

/** One port of HTTP over TLS that comes and goes with a process. */
export interface Port {
  /**
   * Listens with this material from the next handshake on, or closes the port with every connection where there is
   * none. `instance` is the process: another one has none of the connections of the one before. Cheap where nothing
   * changed.
   */
  follow(state: Process | undefined): void;
  /** Closes the port for good. */
  close(): Promise<void>;
}

/** Who serves a port, and where. */
export interface PortOptions {
  readonly address: string;
  /** Milliseconds since the epoch. */
  now(): number;
  onRequest(request: Request, response: Response, certificate: Certificate | undefined): void;
  /** Of a port that could not be opened. */
  onFailure(error: Error): void;
}

/** As kube-apiserver: it lets idle connections be for one and a half minutes. */
const IDLE_MS = 90_000;

/** A port that is closed until it is told to follow something. */
export function createPort(options: PortOptions): Port {
  const known = new WeakMap<object, Certificate | undefined>();
  const answer = (request: Request, response: Response): void =>
    options.onRequest(request, response, certificateOf(request, known));
  const http1 = createServer({ keepAliveTimeout: IDLE_MS }, answer);
  const http2 = createHttp2Server((request, response) => answer(request, response as unknown as Response));
  // A connection that ends in the middle of something is the client's affair.
  http2.on('sessionError', () => undefined);
  let open: { readonly listener: TlsListener; readonly instance: number; isFrozen: boolean } | undefined;
  let closing: Promise<void> = Promise.resolve();
  let wanted: Process | undefined;
  let isEnded = false;

  function listen(): void {
    if (wanted === undefined || open !== undefined || isEnded) return;
    const listener = createTlsListener({
      address: options.address,
      port: wanted.port,
      material: wanted.material,
      alpn: ['h2', 'http/1.1'],
      now: options.now,
      onClient({ socket }) {
        // Node says so only of sockets that its own TLS server accepted; HTTP/2 would wait for it for ever.
        Object.assign(socket, { secureConnecting: false });
        (socket.alpnProtocol === 'h2' ? http2 : http1).emit('connection', socket);
      },
    });
    open = { listener, instance: wanted.instance, isFrozen: false };
    listener.ready.catch((error: Error) => {
      open = undefined;
      options.onFailure(error);
    });
    freeze();
  }

  function freeze(): void {
    if (open === undefined || wanted === undefined || open.isFrozen === wanted.isFrozen) return;
    open.isFrozen = wanted.isFrozen;
    if (open.isFrozen) open.listener.freeze();
    else open.listener.thaw();
  }

  function shut(): void {
    if (open === undefined) return;
    const { listener } = open;
    open = undefined;
    closing = listener.close();
  }

  return {
    follow(state) {
      wanted = state;
      if (state === undefined || open?.instance !== state.instance) shut();
      if (state === undefined) return;
      if (open === undefined) {
        // Two listeners cannot have one port.
        void closing.then(listen);
        return;
      }
      open.listener.use(state.material);
      freeze();
    },
    close() {
      isEnded = true;
      shut();
      return closing;
    },
  };
}

/** What the client showed in its handshake, verified or not; read once for each connection. */
function certificateOf(request: Request, known: WeakMap<object, Certificate | undefined>): Certificate | undefined {
  const connection = 'authority' in request ? (request.stream.session ?? request.stream) : request.socket;
  if (known.has(connection)) return known.get(connection);
  // Over HTTP/2 the socket is one that only shows what may be read.
  const raw = (request.socket as TLSSocket).getPeerX509Certificate()?.raw;
  const certificate = raw === undefined ? undefined : certificateFromDer(raw);
  known.set(connection, certificate);
  return certificate;
}
