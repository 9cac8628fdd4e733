import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createKubeClient, type KubeClient, type KubeClientOptions } from '../../pkg/kube/index.ts';
import { type CertificateAndKey, issueLeaf, toPkcs8 } from '../../pkg/pki/index.ts';
import { aCa } from './certificates.ts';

/** A request as the server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  /** The parsed body, `undefined` when there was none. */
  readonly body: unknown;
  /** Number of the TLS connection that it came over, from 1. */
  readonly connection: number;
}

/** What the server answers: JSON with a status, or whatever the function does with the raw response. */
export type Answer =
  | { readonly status?: number; readonly json: unknown; readonly headers?: Record<string, string> }
  | ((response: ServerResponse) => void);

/** A server that speaks as an API server where the test says so, over real TLS on a loopback address. */
export interface KubeServer {
  /** `https://127.0.0.1:port` */
  readonly url: string;
  readonly ca: CertificateAndKey;
  /** Every request so far, in order. */
  readonly seen: readonly SeenRequest[];
  /** How many TLS connections were made so far. */
  connections(): number;
  /** How many of them are open. */
  open(): number;
  /** How many of them continued an earlier TLS session instead of proving themselves. */
  resumed(): number;
  /** Serves another certificate from the next handshake on. */
  serve(certificate: CertificateAndKey): void;
  /** Cuts every open connection, as a machine that loses its power does not: with a reset. */
  cut(): void;
  /** A client that trusts this server alone, anonymous unless overridden. */
  client(overrides?: Partial<KubeClientOptions>): KubeClient;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How the server is set up. */
export interface KubeServerOptions {
  readonly answer: (request: SeenRequest) => Answer | Promise<Answer>;
  /** Signs the server's certificate; a new Kubernetes CA when absent. */
  readonly ca?: CertificateAndKey;
  /** The whole server certificate, instead of one for 127.0.0.1 by `ca`. */
  readonly certificate?: CertificateAndKey;
  /** Refuse clients without a certificate by this CA, in the handshake. */
  readonly onlyClientsOf?: CertificateAndKey;
}

/** Starts the server; dispose of it with `await using`. */
export async function startKubeServer(options: KubeServerOptions): Promise<KubeServer> {
  // Real time here: TLS on both sides looks at the clock of this machine.
  const now = Date.now();
  const ca = options.ca ?? (await aCa('kubernetes', { now }));
  const leaf =
    options.certificate ??
    (await issueLeaf(ca, { subject: { cn: 'kube-apiserver' }, usages: ['server'], ips: ['127.0.0.1'], now }));
  const seen: SeenRequest[] = [];
  const sockets = new Map<Socket, number>();
  let made = 0;
  let resumed = 0;
  const server = createServer({
    cert: leaf.certificate.pem,
    key: toPkcs8(leaf.key).expose(),
    ...(options.onlyClientsOf === undefined
      ? {}
      : { ca: options.onlyClientsOf.certificate.pem, requestCert: true, rejectUnauthorized: true }),
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    made += 1;
    if (socket.isSessionReused()) resumed += 1;
    sockets.set(socket, made);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const one = await read(request, sockets.get(request.socket) ?? 0);
    seen.push(one);
    send(response, await options.answer(one));
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // A test that answers with an error, or a client that goes away, is a broken connection.
    serve(request, response).catch(() => response.destroy());
  });
  const url = await listen(server);
  const clients: KubeClient[] = [];
  return {
    url,
    ca,
    seen,
    connections: () => made,
    open: () => sockets.size,
    resumed: () => resumed,
    serve: (next) => server.setSecureContext({ cert: next.certificate.pem, key: toPkcs8(next.key).expose() }),
    cut: () => {
      for (const socket of sockets.keys()) socket.destroy();
    },
    client(overrides = {}) {
      const client = createKubeClient({
        server: url,
        trust: [ca.certificate],
        credentials: { kind: 'anonymous' },
        ...overrides,
      });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      for (const socket of sockets.keys()) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function read(request: IncomingMessage, connection: number): Promise<SeenRequest> {
  const chunks: Buffer[] = await request.toArray();
  const text = Buffer.concat(chunks).toString('utf8');
  const url = new URL(request.url ?? '/', 'https://server');
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body: text === '' ? undefined : JSON.parse(text),
    connection,
  };
}

function send(response: ServerResponse, answer: Answer): void {
  if (typeof answer === 'function') {
    answer(response);
    return;
  }
  response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
  response.end(JSON.stringify(answer.json));
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A Kubernetes Status, as an API server refuses with. */
export function aStatus(
  code: number,
  reason: string,
  message: string,
  details: object = {},
): { readonly status: number; readonly json: object } {
  return {
    status: code,
    json: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code },
  };
}
