import type { TLSSocket } from 'node:tls';
import type { Certificate, CertificateAndKey } from '../pki/index.ts';
import { openSocket, refusalOf, type SecureSocket, secureContext, servedChain } from './transport/socket.ts';
import { alertText, clientRefusal, connectionTrouble, serverRefusal, type TrustReason } from './transport/trust.ts';

/** What HTTP/2 servers wait for before they speak: the preface and an empty SETTINGS frame. */
const HTTP2_PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
/** Makes any HTTP/1.1 server answer; nothing is asked for. */
const HTTP1_REQUEST = 'OPTIONS * HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n';

export interface TlsProbeOptions {
  readonly host: string;
  readonly port: number;
  /** The name or address that the certificate must be for; default `host`. */
  readonly servername?: string;
  /** CAs to accept. An empty list accepts nothing. */
  readonly trust: readonly Certificate[];
  /** The client certificate to show. Without one, a server that demands it answers `untrusted-client`. */
  readonly credentials?: CertificateAndKey;
  /** Default `['h2']`. Servers of etcd, Talos, the kubelet and Kubernetes all speak it; without it HTTP/1.1 is tried. */
  readonly alpn?: readonly string[];
  /** For connecting, the handshake and the first read together. Default 5,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * - `accepted`: both sides accepted each other and the server has spoken.
 * - `untrusted-server`: its certificate is not by `trust`, not for this name or out of its time. Nothing was sent.
 * - `untrusted-client`: it refused the client certificate, or demanded one.
 * - `closed`: the handshake succeeded, then it hung up without a word. A server that is going down does that, and
 *   so does one built on Node that refuses the client certificate; Talos, etcd and Kubernetes give the reason.
 *   {@link proveRefused} tells the two apart.
 * - `unreachable`: no TCP connection, or no TLS.
 * - `timeout`: connected, but silent.
 */
export type TlsVerdict = 'accepted' | 'untrusted-server' | 'untrusted-client' | 'closed' | 'unreachable' | 'timeout';

export interface TlsProbe {
  readonly verdict: TlsVerdict;
  /** Why, for the two `untrusted` verdicts. */
  readonly reason?: TrustReason;
  /** In words, with the code of the TLS library. */
  readonly detail: string;
  /** What was served, leaf first. Empty without a handshake. */
  readonly chain: readonly Certificate[];
  /** Time to the verdict, in ms. */
  readonly tookMs: number;
}

/**
 * Makes one TLS connection and *reads* from it: in TLS 1.3 a server refuses a
 * client certificate only after our side of the handshake is over, so a handshake
 * that succeeds says nothing. Never throws for what it finds.
 *
 * @throws Error when certificate and key of `credentials` do not belong together
 */
export async function probeTls(options: TlsProbeOptions): Promise<TlsProbe> {
  const started = performance.now();
  const context = secureContext(options.trust, options.credentials);
  const timeout = AbortSignal.timeout(options.timeoutMs ?? 5_000);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const end = (found: Omit<TlsProbe, 'tookMs'>): TlsProbe => ({ ...found, tookMs: performance.now() - started });
  let socket: SecureSocket;
  try {
    socket = await openSocket(options, context, { alpn: options.alpn ?? ['h2'], signal });
  } catch (error) {
    return end({ ...judgeFailure(error, signal, 'no connection'), chain: [] });
  }
  const chain = servedChain(socket.tls);
  try {
    const refusal = refusalOf(socket.tls);
    if (refusal !== undefined) {
      return end({ verdict: 'untrusted-server', reason: serverRefusal(refusal), detail: refusal, chain });
    }
    await firstBytes(socket.tls, signal);
    return end({
      verdict: 'accepted',
      detail: `${socket.tls.getProtocol()} ${socket.tls.alpnProtocol || ''}`.trim(),
      chain,
    });
  } catch (error) {
    const found = judgeFailure(error, signal, 'no byte after the handshake');
    return end({ ...found, verdict: found.verdict === 'unreachable' ? 'closed' : found.verdict, chain });
  } finally {
    socket.reset();
  }
}

function judgeFailure(error: unknown, signal: AbortSignal, silence: string): Omit<TlsProbe, 'chain' | 'tookMs'> {
  if (signal.aborted && error === signal.reason) return { verdict: 'timeout', detail: silence };
  const reason = clientRefusal(error);
  if (reason !== undefined) return { verdict: 'untrusted-client', reason, detail: alertText(error) };
  return { verdict: 'unreachable', detail: connectionTrouble(error) };
}

function firstBytes(socket: TLSSocket, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) return Promise.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  socket.once('data', () => resolve());
  socket.on('error', reject);
  socket.once('close', () => reject(Object.assign(new Error('closed without a byte'), { code: 'ECONNRESET' })));
  socket.write(socket.alpnProtocol === 'h2' ? HTTP2_PREFACE : HTTP1_REQUEST);
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

/** What {@link proveRefused} found. */
export interface RefusalProof {
  readonly refused: boolean;
  /** What the credential in question met. */
  readonly probe: TlsProbe;
  /** What the control met, before and after. */
  readonly control: readonly [TlsProbe, TlsProbe];
}

/**
 * Whether a server refuses a credential, with a control that it must accept right
 * before and right after: a server that is down, going down or out of reach refuses
 * everything, which proves nothing.
 *
 * @param options `credentials` is the one that should be refused, `control` one that should be accepted
 */
export async function proveRefused(
  options: TlsProbeOptions & { readonly credentials: CertificateAndKey; readonly control: CertificateAndKey },
): Promise<RefusalProof> {
  const before = await probeTls({ ...options, credentials: options.control });
  const probe = await probeTls(options);
  const after = await probeTls({ ...options, credentials: options.control });
  const alive = before.verdict === 'accepted' && after.verdict === 'accepted';
  return { refused: alive && isRefusal(probe), probe, control: [before, after] };
}

function isRefusal(probe: TlsProbe): boolean {
  if (probe.verdict === 'closed') return true;
  // Refused for its time is not refused for its CA.
  return probe.verdict === 'untrusted-client' && probe.reason !== 'expired' && probe.reason !== 'not-yet-valid';
}
