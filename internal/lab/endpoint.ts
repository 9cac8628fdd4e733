import { connect, type Server, type Socket } from 'node:net';
import { isApiServerReady, type World } from '../simulator/index.ts';

/** The load balancer in front of the API servers. */
export interface Endpoint {
  close(): Promise<void>;
}

/**
 * Forwards every connection to one API server that is ready, each in turn, and
 * closes it where none is. It knows nothing of TLS: a connection ends with the
 * API server behind it.
 */
export function forward(server: Server, world: World): Endpoint {
  const sockets = new Set<Socket>();
  let turn = 0;
  server.on('connection', (client) => {
    const ready = world.planes().filter((machine) => isApiServerReady(world, machine));
    turn += 1;
    const plane = ready[turn % Math.max(1, ready.length)];
    const port = plane?.plane?.apiServer.port;
    if (plane === undefined || port === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(port, plane.address);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  return {
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
