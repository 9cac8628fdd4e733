import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket } from 'node:tls';
import {
  type Certificate,
  type CertificateAndKey,
  certificateFromDer,
  toPkcs8,
  type VerifyReason,
  verifyChain,
} from '../../pkg/pki/index.ts';
import { type AlertName, CIPHERS, sealedAlert } from './tls-alert.ts';
import { type Wire, wireOver } from './wire.ts';

/** What a process has in its memory at this moment; a connection is judged by what was true at its handshake. */
export interface TlsMaterial {
  /** What it serves, the chain behind the leaf included. */
  readonly served: CertificateAndKey;
  readonly behind?: readonly Certificate[];
  /** CAs whose clients it takes; undefined where it asks for no certificate. */
  readonly accepts: readonly Certificate[] | undefined;
  /** Takes clients without a certificate, or with one by another CA, as kube-apiserver does: `client` is then undefined. */
  readonly isOptional?: boolean;
}

/** A client that was let in. */
export interface TlsClient {
  readonly socket: TLSSocket;
  readonly certificate: Certificate | undefined;
}

/** One port of a machine over TLS 1.3. */
export interface TlsListener {
  /** Serves and accepts other material from the next handshake on; open connections stay. */
  use(material: TlsMaterial): void;
  /** Freezes every connection and answers no new one, as a network does that loses every packet; ended by `thaw`, which resets them. */
  freeze(): void;
  thaw(): void;
  /** Ends the listener and every connection at once. */
  close(): Promise<void>;
  /** Resolves when the port is bound; rejects where it cannot be. */
  readonly ready: Promise<void>;
  /** The port that was bound. */
  port(): number;
}

/** How a port is served. */
export interface TlsListenerOptions {
  readonly address: string;
  readonly port: number;
  readonly material: TlsMaterial;
  readonly alpn: readonly string[];
  /** Milliseconds since the epoch: validity of client certificates is judged by it. */
  now(): number;
  onClient(client: TlsClient): void;
  /** Of a client that was refused, in the words that Go logs. */
  onRefusal?(detail: string): void;
}

/** Listens at once; each connection gets the material of its own moment. */
export function createTlsListener(options: TlsListenerOptions): TlsListener {
  let { material } = options;
  let isFrozen = false;
  const wires = new Set<Wire>();
  const held = new Set<Socket>();

  function accept(raw: Socket): void {
    raw.setNoDelay(true);
    if (isFrozen) {
      held.add(raw.on('error', () => undefined).on('close', () => held.delete(raw)));
      return;
    }
    const wire = wireOver(raw);
    wires.add(wire);
    wire.stream.on('close', () => wires.delete(wire));
    admit(wire, { ...options, material });
  }

  const server: Server = createServer({ noDelay: true }, accept);
  const ready = new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.address, port: options.port }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });

  return {
    ready,
    port() {
      const bound = server.address();
      return typeof bound === 'object' && bound !== null ? bound.port : options.port;
    },
    use(next) {
      if (isSame(material, next)) return;
      material = next;
    },
    freeze() {
      isFrozen = true;
      for (const wire of wires) wire.freeze();
    },
    thaw() {
      isFrozen = false;
      for (const wire of wires) wire.reset();
      for (const raw of held) raw.resetAndDestroy();
    },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // A process that ends hangs up; what it sent before is there for who reads on.
      for (const wire of wires) wire.hangUp();
      for (const raw of held) raw.destroy();
      return closed;
    },
  };
}

/**
 * One handshake and the verdict on its client. A TLS server of its own for each
 * connection: material and secret then belong to it by construction.
 */
function admit(wire: Wire, { material, alpn, now, onClient, onRefusal }: TlsListenerOptions): void {
  const asks = material.accepts !== undefined;
  let secret: Buffer | undefined;
  const server = createTlsServer({
    ...contextOf(material),
    requestCert: asks,
    rejectUnauthorized: false,
    ALPNProtocols: [...alpn],
  });
  server.on('keylog', (line: Buffer) => {
    const found = /^SERVER_TRAFFIC_SECRET_0 \S+ (\S+)/.exec(line.toString('latin1'))?.[1];
    if (found !== undefined) secret = Buffer.from(found, 'hex');
  });
  // A client that hangs up or speaks no TLS is its own affair.
  server.on('tlsClientError', () => wire.stream.destroy());
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => undefined);
    const certificate = asks ? peerOf(socket) : undefined;
    const verdict = asks ? judge(certificate, material.accepts ?? [], now()) : undefined;
    if (verdict !== undefined && material.isOptional !== true) {
      onRefusal?.(verdict.detail);
      // The session tickets leave after this event: the alert comes behind them.
      setImmediate(() =>
        wire.refuse((sent) => (secret && sealedAlert(verdict.alert, secret, sent)) ?? Buffer.alloc(0)),
      );
      return;
    }
    wire.forget();
    onClient({ socket, certificate: verdict === undefined ? certificate : undefined });
  });
  server.emit('connection', wire.stream);
}

function peerOf(socket: TLSSocket): Certificate | undefined {
  const raw = socket.getPeerX509Certificate()?.raw;
  return raw === undefined ? undefined : certificateFromDer(raw);
}

const BY_REASON: Readonly<Partial<Record<VerifyReason, AlertName>>> = {
  'no-roots': 'unknown-ca',
  'unknown-issuer': 'unknown-ca',
  'bad-signature': 'unknown-ca',
  expired: 'certificate-expired',
  'not-yet-valid': 'certificate-expired',
};

/** As Go's `crypto/tls` judges and answers (`processCertsFromClient`). */
function judge(
  certificate: Certificate | undefined,
  accepts: readonly Certificate[],
  now: number,
): { readonly alert: AlertName; readonly detail: string } | undefined {
  if (certificate === undefined) {
    return { alert: 'certificate-required', detail: "tls: client didn't provide a certificate" };
  }
  const found = verifyChain(certificate, accepts, { now, usage: 'client' });
  if (found.ok) return undefined;
  return {
    alert: BY_REASON[found.reason] ?? 'bad-certificate',
    detail: `tls: failed to verify certificate: ${found.message}`,
  };
}

function contextOf({ served, behind = [], accepts }: TlsMaterial): SecureContextOptions {
  return {
    cert: [served.certificate, ...behind].map(({ pem }) => pem).join(''),
    key: toPkcs8(served.key).expose(),
    // For the names in the certificate request alone; the verdict is ours.
    ca: (accepts ?? []).map(({ pem }) => pem),
    minVersion: 'TLSv1.3',
    ciphers: CIPHERS,
  };
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  const names = ({ served, behind = [], accepts, isOptional }: TlsMaterial): string =>
    JSON.stringify([
      served.certificate.fingerprint,
      behind.map(({ fingerprint }) => fingerprint),
      accepts?.map(({ fingerprint }) => fingerprint) ?? null,
      isOptional ?? false,
    ]);
  return a === b || names(a) === names(b);
}
