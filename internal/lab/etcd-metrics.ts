import { createServer, type Server, type ServerResponse } from 'node:http';
import type { SimMachine } from '../simulator/index.ts';
import { asFields, asList, asText } from './configuration.ts';
import type { LabWorld, Served } from './served.ts';

/**
 * The plain port of etcd for metrics and health, where `listen-metrics-urls` asks for
 * it. Arguments are read when etcd starts: another one takes a reboot to be seen.
 */
export function serveEtcdMetrics(lab: LabWorld, machine: SimMachine): Served {
  let open: { readonly port: number; readonly server: Server } | undefined;

  function close(): Promise<void> {
    const { server } = open ?? {};
    open = undefined;
    if (server === undefined) return Promise.resolve();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    return closed;
  }

  return {
    sync() {
      const etcd = machine.plane?.etcd;
      const isThere = machine.isUp && !machine.isCutOff && etcd?.isRunning === true;
      const port = isThere ? metricsPort(etcd.startedWith) : undefined;
      if (port === open?.port) return;
      void close();
      if (port === undefined) return;
      const server = createServer((request, response) => answer(lab, machine, request.url ?? '', response));
      server.on('error', (error) => lab.log(machine.name, `etcd cannot listen on ${port}: ${error.message}`));
      server.listen({ host: machine.address, port });
      open = { port, server };
    },
    close,
  };
}

/** Port of the first URL; a lab's machines have one address each, whichever the URL names. */
function metricsPort(startedWith: string | undefined): number | undefined {
  if (startedWith === undefined) return undefined;
  const given = asFields(asFields(JSON.parse(startedWith)).extraArgs)['listen-metrics-urls'];
  const [first] = Array.isArray(given) ? asList(given).map(asText) : asText(given).split(',');
  const url = URL.parse(first ?? '');
  return url === null || url.protocol !== 'http:' ? undefined : Number(url.port || 80);
}

function answer({ world }: LabWorld, machine: SimMachine, path: string, response: ServerResponse): void {
  const isHealthy = world.etcd.isHealthy(machine);
  if (path === '/health') {
    response.writeHead(isHealthy ? 200 : 503, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ health: String(isHealthy), reason: isHealthy ? '' : 'RAFT NO LEADER' }));
  } else if (path === '/metrics') {
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
    const isLeader = world.etcd.leader === machine.name;
    response.end(`etcd_server_has_leader ${isHealthy ? 1 : 0}\netcd_server_is_leader ${isLeader ? 1 : 0}\n`);
  } else response.writeHead(404).end();
}
