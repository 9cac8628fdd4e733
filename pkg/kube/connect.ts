import { Agent } from 'node:https';
import type { Duplex } from 'node:stream';
import { checkServerIdentity, connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Clock } from '../clock/index.ts';
import { type Certificate, toPkcs8 } from '../pki/index.ts';
import type { Credentials } from './client.ts';
import { ConnectFailure, connectFailure } from './failure.ts';
import { type ClientIdentity, identityFor } from './identity.ts';

/** What every connection of one client shares. */
export interface Binding {
  readonly server: string;
  readonly host: string;
  readonly port: number;
  readonly trust: readonly Certificate[];
  readonly credentials: Credentials;
  readonly serverName: string | undefined;
  readonly connectDeadlineMs: number;
  readonly clock: Clock;
  /** Aborted once, when the client is closed. */
  readonly closing: AbortController;
}

/** A kept connection that nobody used for so long is closed by us, before the server (90 s) can close it under a request. */
const IDLE_MS = 30_000;

/** Agent that opens connections of one binding; `keep: false` closes each after its first call. */
export function createAgent(binding: Binding, options: { keep: boolean }): Agent {
  return new PinnedAgent(binding, options);
}

/** node:https does pooling; verification happens here, before a byte of a request is handed to a socket. */
class PinnedAgent extends Agent {
  readonly #binding: Binding;

  constructor(binding: Binding, options: { keep: boolean }) {
    // No TLS session is kept: a resumed session is not verified again. Node's own limit of sockets does not count
    // connections that are still being made, so the limit is in `turns.ts`.
    super({ keepAlive: options.keep, maxCachedSessions: 0, timeout: IDLE_MS });
    this.#binding = binding;
  }

  override createConnection(_options: unknown, callback?: (error: Error | null, stream: Duplex) => void): undefined {
    // On an error Node looks at the first argument alone.
    openVerified(this.#binding).then(
      (socket) => callback?.(null, socket),
      (error: Error) => callback?.(error, undefined as unknown as Duplex),
    );
    return undefined;
  }
}

/**
 * A TLS connection whose server is proved to be this address by one of the trusted CAs. Rejects with a ConnectFailure.
 *
 * OpenSSL looks for an issuer by name and key identifier, and takes one. Old and new CA share their name, so for a leaf
 * without an authority key identifier it may take the wrong one and give up: then each CA is tried alone.
 */
export async function openVerified(binding: Binding): Promise<TLSSocket> {
  const identity = await identityFor(binding.credentials, binding.server);
  try {
    return await openOnce(binding, identity, binding.trust);
  } catch (error) {
    if (!(error instanceof ConnectFailure) || !error.issuerAmbiguous || binding.trust.length < 2) throw error;
    for (const ca of binding.trust) {
      try {
        return await openOnce(binding, identity, [ca]);
      } catch (again) {
        if (!(again instanceof ConnectFailure) || again.kind !== 'untrusted-server') throw again;
      }
    }
    throw error;
  }
}

function openOnce(binding: Binding, identity: ClientIdentity, trust: readonly Certificate[]): Promise<TLSSocket> {
  const expectedName = binding.serverName ?? binding.host;
  let wrongName: Error | undefined;
  let connected = false;
  const socket = connect({
    host: binding.host,
    port: binding.port,
    // An IP address is not sent as server name; Node verifies it against the IP SANs.
    ...(binding.serverName === undefined ? {} : { servername: binding.serverName }),
    secureContext: contextOf(identity, trust),
    ALPNProtocols: ['http/1.1'],
    // We refuse by ourselves below: Node would drop the connection without letting us say which certificate it saw.
    rejectUnauthorized: false,
    checkServerIdentity: (_host, certificate) => {
      wrongName = checkServerIdentity(expectedName, certificate);
      return wrongName;
    },
  });
  socket.setNoDelay(true);
  socket.once('connect', () => {
    connected = true;
  });
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    const fail = (error: unknown): void => {
      over.abort();
      binding.closing.signal.removeEventListener('abort', onClosing);
      reject(connectFailure(error, { connected, trust: binding.trust, connectDeadlineMs: binding.connectDeadlineMs }));
      // Whatever the socket still says after this has been said already.
      socket.on('error', () => undefined);
      socket.destroy();
    };
    const onClosing = (): void => fail(binding.closing.signal.reason);
    const onClose = (): void => fail(new Error('the connection was closed before TLS was established'));
    socket.once('error', fail);
    socket.once('close', onClose);
    binding.closing.signal.addEventListener('abort', onClosing, { once: true });
    binding.clock.sleep(binding.connectDeadlineMs, over.signal).then(
      () => fail('deadline'),
      () => undefined,
    );
    socket.once('secureConnect', () => {
      if (!socket.authorized) {
        fail({
          unauthorized: socket.authorizationError,
          wrongName,
          peer: socket.getPeerX509Certificate(),
          expectedName,
        });
        return;
      }
      over.abort();
      binding.closing.signal.removeEventListener('abort', onClosing);
      socket.off('error', fail);
      socket.off('close', onClose);
      resolve(socket);
    });
    if (binding.closing.signal.aborted) onClosing();
  });
}

/** Trust and client certificate in OpenSSL's form, made once for each list of CAs while the certificate stays. */
function contextOf(identity: ClientIdentity, trust: readonly Certificate[]): SecureContext {
  const known = contexts.get(trust);
  const { certificatePem, key } = identity;
  if (known !== undefined && known.certificatePem === certificatePem && known.key === key) return known.context;
  const context = createSecureContext({
    ca: trust.map((ca) => ca.pem),
    minVersion: 'TLSv1.2',
    ...(certificatePem === undefined ? {} : { cert: certificatePem }),
    // OpenSSL does not know Talos's label for Ed25519 keys; PKCS#8 suits every algorithm.
    ...(key === undefined ? {} : { key: toPkcs8(key).expose() }),
  });
  contexts.set(trust, { certificatePem, key, context });
  return context;
}

/** The last context of each list: it holds no session, so every connection made with it is verified by itself. */
const contexts = new WeakMap<readonly Certificate[], ClientIdentity & { readonly context: SecureContext }>();
