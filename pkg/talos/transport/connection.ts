import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { SecureContext } from 'node:tls';
import type { Certificate } from '../../pki/index.ts';
import { TransportFailure } from './failure.ts';
import { type Endpoint, openSocket, refusalOf, type SecureSocket, secureContext, servedChain } from './socket.ts';
import { alertText, clientRefusal, connectionTrouble, serverRefusal } from './trust.ts';

/** Larger than the 64 KiB of HTTP/2, so that a configuration or a snapshot does not wait for window updates. */
const WINDOW_BYTES = 1024 * 1024;
/** While a stream is open and silent, the peer is asked whether it still lives: a machine without power says nothing. */
const PING_EVERY_MS = 10_000;
const PING_TIMEOUT_MS = 5_000;

/** One HTTP/2 connection to a machine that has accepted our certificate and was accepted by us. */
export interface Connection {
  /** False once it was closed, broke, or the peer said that it will go away. */
  usable(): boolean;
  /** Opens one stream. */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream;
  /** True when the peer said that it did not and will not look at this stream. */
  unseen(stream: ClientHttp2Stream): boolean;
  /** No new streams; ends when the open ones have. */
  retire(): void;
  /** Ends at once and throws away what was not sent yet. */
  reset(): void;
  readonly served: Certificate | undefined;
}

/**
 * Connects and waits until the peer has sent its HTTP/2 settings. A server of the
 * Talos API does that only after it has verified the client certificate, which in
 * TLS 1.3 is after our side of the handshake is over; so what fails in here was
 * never sent (`not-done`), and what comes out is a connection on which both sides
 * have accepted each other.
 *
 * @throws {TransportFailure} `unreachable`, `untrusted-server`, `untrusted-client` or `maintenance`
 */
export async function openConnection(
  endpoint: Endpoint,
  context: SecureContext,
  options: { readonly trust: readonly Certificate[]; readonly signal: AbortSignal },
): Promise<Connection> {
  const socket = await open(endpoint, context, options.signal);
  const refusal = refusalOf(socket.tls);
  const [served] = servedChain(socket.tls);
  if (refusal !== undefined) {
    socket.reset();
    throw await refuseServer({ endpoint, refusal, served, ...options });
  }
  return establish(socket, options.signal, served);
}

async function open(endpoint: Endpoint, context: SecureContext, signal: AbortSignal): Promise<SecureSocket> {
  try {
    return await openSocket(endpoint, context, { alpn: ['h2'], signal });
  } catch (cause) {
    if (signal.aborted && cause === signal.reason) throw cause;
    throw connectFailure(cause);
  }
}

function connectFailure(cause: unknown): TransportFailure {
  const reason = clientRefusal(cause);
  if (reason === undefined) return new TransportFailure('unreachable', 'not-done', connectionTrouble(cause), cause);
  const detail = `the machine refused our client certificate (${reason}: ${alertText(cause)})`;
  return new TransportFailure('untrusted-client', 'not-done', detail, cause);
}

/** Says what was served and what was trusted; finds out whether this is a machine without a configuration. */
async function refuseServer(found: {
  endpoint: Endpoint;
  refusal: string;
  served: Certificate | undefined;
  trust: readonly Certificate[];
  signal: AbortSignal;
}): Promise<TransportFailure> {
  const reason = serverRefusal(found.refusal);
  if (reason === 'unknown-authority' && (await acceptsAnyone(found.endpoint, found.signal))) {
    const detail = 'it serves the maintenance API: it has no configuration. Configure it first; nothing was sent';
    return new TransportFailure('maintenance', 'not-done', detail);
  }
  const served = found.served;
  const what =
    served === undefined
      ? 'it served no certificate'
      : `it served certificate ${served.fingerprint} (issuer "${served.issuer}", valid ${new Date(served.notBefore).toISOString()} to ${new Date(served.notAfter).toISOString()})`;
  const trusted = found.trust.map((certificate) => certificate.fingerprint).join(', ');
  const detail = `${reason} (${found.refusal}): ${what}; trusted are ${trusted === '' ? 'no CAs' : trusted}`;
  return new TransportFailure('untrusted-server', 'not-done', detail);
}

/** A configured machine demands a client certificate; one in maintenance mode lets everybody in. Nothing is sent. */
async function acceptsAnyone(endpoint: Endpoint, signal: AbortSignal): Promise<boolean> {
  try {
    const socket = await openSocket(endpoint, secureContext([], undefined), { alpn: ['h2'], signal });
    const connection = await establish(socket, signal, undefined);
    connection.reset();
    return true;
  } catch {
    return false;
  }
}

function establish(socket: SecureSocket, signal: AbortSignal, served: Certificate | undefined): Promise<Connection> {
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  if (socket.tls.alpnProtocol !== 'h2') {
    socket.reset();
    const detail = 'what listens there does not speak HTTP/2';
    return Promise.reject(new TransportFailure('unreachable', 'not-done', detail));
  }
  const session = connect('https://talos', {
    createConnection: () => socket.tls,
    settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
  });
  const fail = (error: unknown) => {
    signal.removeEventListener('abort', abandon);
    socket.tls.off('error', fail);
    session.off('error', fail);
    session.off('close', closed);
    session.on('error', () => {});
    session.destroy();
    socket.reset();
    reject(error === signal.reason && signal.aborted ? error : connectFailure(error));
  };
  const abandon = () => fail(signal.reason);
  const closed = () =>
    fail(Object.assign(new Error('closed before it was ready'), { code: 'ERR_CLOSED_AFTER_HANDSHAKE' }));
  signal.addEventListener('abort', abandon, { once: true });
  // A TLS alert, by which the machine refuses our certificate, reaches the socket but not the session.
  socket.tls.once('error', fail);
  session.once('error', fail);
  session.once('close', closed);
  session.once('remoteSettings', () => {
    signal.removeEventListener('abort', abandon);
    socket.tls.off('error', fail);
    session.off('error', fail);
    session.off('close', closed);
    socket.tls.on('error', (error) => session.destroy(error));
    session.setLocalWindowSize(4 * WINDOW_BYTES);
    resolve(wrap(session, socket, served));
  });
  if (signal.aborted) abandon();
  return promise;
}

function wrap(session: ClientHttp2Session, socket: SecureSocket, served: Certificate | undefined): Connection {
  let lastSeenByPeer = Number.POSITIVE_INFINITY;
  let goingAway = false;
  const open = new Set<ClientHttp2Stream>();
  let watchdog: NodeJS.Timeout | undefined;
  session.on('goaway', (_code, lastStreamId) => {
    goingAway = true;
    lastSeenByPeer = lastStreamId;
    // The peer will never answer these, and Node leaves them waiting.
    for (const stream of open) if ((stream.id ?? 0) > lastStreamId) stream.close(constants.NGHTTP2_CANCEL);
  });
  // Each stream reports its own end; the session's error would only repeat it.
  session.on('error', () => {});
  // An idle connection must not keep a program from ending.
  session.unref();
  return {
    served,
    usable: () => !session.closed && !session.destroyed && !goingAway,
    request(headers) {
      const stream = session.request(headers);
      open.add(stream);
      session.ref();
      watchdog ??= watch(session);
      stream.once('close', () => {
        open.delete(stream);
        if (open.size > 0) return;
        clearInterval(watchdog);
        watchdog = undefined;
        if (!session.destroyed) session.unref();
      });
      return stream;
    },
    unseen: (stream) => stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || (stream.id ?? 0) > lastSeenByPeer,
    retire: () => session.close(),
    reset() {
      session.destroy();
      socket.reset();
    },
  };
}

/** Destroys a session whose peer does not answer pings, which ends its streams. */
function watch(session: ClientHttp2Session): NodeJS.Timeout {
  return setInterval(() => {
    const silence = setTimeout(
      () => session.destroy(new Error(`the machine did not answer a ping for ${PING_TIMEOUT_MS / 1000} s`)),
      PING_TIMEOUT_MS,
    );
    if (session.destroyed || !session.ping(() => clearTimeout(silence))) clearTimeout(silence);
  }, PING_EVERY_MS);
}
