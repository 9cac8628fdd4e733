import { isIP } from 'node:net';
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { type Certificate, type CertificateAndKey, certificateFromDer, toPkcs8 } from '../../pki/index.ts';

/** Where to connect. `servername` is what the certificate must be for, when that is not `host`. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly servername?: string;
}

/** A socket after its handshake. Whether the peer is trusted is for the caller to judge: see {@link refusalOf}. */
export interface SecureSocket {
  readonly tls: TLSSocket;
  /** Ends the connection at once. */
  reset(): void;
}

/**
 * Trust and client certificate in OpenSSL's form, made once for the same ones. No CA in
 * `trust` means that nothing is trusted, not the system's list.
 *
 * @throws Error when certificate and key do not belong together
 */
export function secureContext(
  trust: readonly Certificate[],
  credentials: CertificateAndKey | undefined,
): SecureContext {
  const known = credentials && contexts.get(credentials);
  const isSame = known?.trust.length === trust.length && trust.every((each, index) => each === known.trust[index]);
  if (known !== undefined && isSame) return known.context;
  const context = createContext(trust, credentials);
  if (credentials !== undefined) contexts.set(credentials, { trust, context });
  return context;
}

/** A context holds no session: every connection made with it is verified by itself. Forgotten together with the credentials. */
const contexts = new WeakMap<
  CertificateAndKey,
  { readonly trust: readonly Certificate[]; readonly context: SecureContext }
>();

function createContext(trust: readonly Certificate[], credentials: CertificateAndKey | undefined): SecureContext {
  return createSecureContext({
    ca: trust.map((certificate) => certificate.pem),
    minVersion: 'TLSv1.2',
    ...(credentials && { cert: credentials.certificate.pem, key: toPkcs8(credentials.key).expose() }),
  });
}

/**
 * Opens TCP and does the TLS handshake. It resolves for an untrusted peer too, so
 * that what the peer served can be shown; nothing has been sent by then but the
 * handshake. Sessions are never resumed: each connection verifies anew.
 *
 * @throws the Node or OpenSSL error, or the reason of `signal`
 */
export function openSocket(
  endpoint: Endpoint,
  context: SecureContext,
  options: { readonly alpn: readonly string[]; readonly signal: AbortSignal },
): Promise<SecureSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<SecureSocket>();
  if (options.signal.aborted) return Promise.reject(options.signal.reason);
  const name = endpoint.servername ?? endpoint.host;
  const tls = connectTls({
    host: endpoint.host,
    port: endpoint.port,
    ...(isIP(name) === 0 && { servername: name }),
    ...(isIP(name) !== 0 &&
      name !== endpoint.host && { checkServerIdentity: (_host: string, served) => checkServerIdentity(name, served) }),
    secureContext: context,
    ALPNProtocols: [...options.alpn],
    // Verified all the same: the verdict is read from `authorizationError` before a byte is sent.
    rejectUnauthorized: false,
  });
  const abandon = () => fail(options.signal.reason);
  const settle = () => {
    options.signal.removeEventListener('abort', abandon);
    tls.off('error', fail);
    tls.off('close', closed);
  };
  function fail(error: unknown): void {
    settle();
    // Errors that follow the first one have nobody left to hear them.
    tls.on('error', ignore);
    tls.destroy();
    reject(error);
  }
  function closed(): void {
    fail(Object.assign(new Error('closed during the handshake'), { code: 'ECONNRESET' }));
  }
  options.signal.addEventListener('abort', abandon, { once: true });
  tls.once('error', fail);
  tls.once('close', closed);
  tls.once('secureConnect', () => {
    settle();
    resolve({ tls, reset: () => resetSocket(tls) });
  });
  return promise;
}

function resetSocket(tls: TLSSocket): void {
  tls.on('error', ignore);
  tls.destroy();
}

function ignore(): void {}

/** OpenSSL's or Node's code for why the peer is not trusted; `undefined` for a trusted one. */
export function refusalOf(socket: TLSSocket): string | undefined {
  if (socket.authorized) return undefined;
  // Typed as an Error, but Node stores the code as a string.
  return String(socket.authorizationError ?? 'unverified');
}

/** The certificates that the peer served, leaf first; nothing from the trust list is added. */
export function servedChain(socket: TLSSocket): readonly Certificate[] {
  const chain: Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next !== undefined && !chain.some((known) => Buffer.from(known.der).equals(next?.raw ?? Buffer.alloc(0)))) {
    chain.push(certificateFromDer(next.raw));
    next = next.issuerCertificate;
  }
  return chain;
}
