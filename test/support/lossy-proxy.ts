import { connect as connectTcp, createServer, type Socket } from 'node:net';

/** Longer than a busy host keeps a process from writing on, so that bursts can be told apart. */
const DELAY_MS = 1_000;

/** What the proxy does with the request, which is the third burst that the client sends. */
export type Fault = 'none' | 'lose-reply' | 'drop-request';

/** A proxy in front of one server. */
export interface LossyProxy {
  readonly port: number;
  /** Holds for connections that are opened from now on. */
  fault: Fault;
  /** From now on nothing passes, and nobody is told: as when the server loses its power. */
  silence(): void;
  close(): void;
}

/**
 * A TCP proxy that loses one side of a call inside TLS, without understanding it.
 * It hands on what the server says one second late, so that what the client sends
 * comes in bursts: hello; then its certificate and HTTP/2 settings; then, when the
 * server's settings have arrived, the request. With `lose-reply` the request is
 * handed on and the connection cut before an answer can come back; with
 * `drop-request` it is cut before the request is handed on.
 */
export async function lossyProxy(target: { readonly host: string; readonly port: number }): Promise<LossyProxy> {
  const open = new Set<Socket>();
  const state = { fault: 'none' as Fault, silent: false };
  const server = createServer((client) => {
    const upstream = connectTcp(target.port, target.host);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    join(client, upstream, state.fault, () => state.silent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    get fault() {
      return state.fault;
    },
    set fault(fault) {
      state.fault = fault;
    },
    silence() {
      state.silent = true;
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

function join(client: Socket, upstream: Socket, fault: Fault, isSilent: () => boolean): void {
  let bursts = 0;
  let lastAt = Number.NEGATIVE_INFINITY;
  let cut = false;
  client.on('data', (bytes) => {
    if (isSilent()) return;
    const now = performance.now();
    if (now - lastAt > DELAY_MS / 2) bursts += 1;
    lastAt = now;
    const isRequest = bursts >= 3;
    if (isRequest && fault === 'drop-request') client.destroy();
    else if (!cut) upstream.write(bytes);
    if (!isRequest || fault !== 'lose-reply' || cut) return;
    cut = true;
    // The machine has the request; its answer is still held back when the client is cut off.
    setTimeout(() => client.destroy(), DELAY_MS / 2);
  });
  upstream.on('data', (bytes) => {
    setTimeout(() => {
      if (!client.destroyed && !isSilent()) client.write(bytes);
    }, DELAY_MS);
  });
}
