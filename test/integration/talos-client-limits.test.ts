import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { createTalosMachine, SERVICE } from '../../pkg/talos/index.ts';
import { WatchResponse } from '../../proto/generated/cosi/resource.ts';
import { aTalosServer, type TalosServer, type TalosServerOptions } from '../builders/talos-server.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import type { ClientOrder, ClientReport } from '../support/talos-client-process.ts';

const MIB = 1024 * 1024;
const opened: TalosServer[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close();
});

async function aServer(options: TalosServerOptions = {}): Promise<TalosServer> {
  const server = await aTalosServer(options);
  opened.push(server);
  return server;
}

async function runClients(server: TalosServer, work: Pick<ClientOrder, 'idle' | 'calls'>): Promise<ClientReport> {
  const script = fileURLToPath(new URL('../support/talos-client-process.ts', import.meta.url));
  const child = fork(script, { execArgv: ['--expose-gc'] });
  const { credentials, trust } = server.identity;
  const order: ClientOrder = {
    address: server.address,
    port: server.port,
    trust: trust[0]?.pem ?? '',
    certificate: credentials.certificate.pem,
    key: credentials.key.expose(),
    ...work,
  };
  child.send(order);
  return await new Promise((resolve, reject) => {
    child.once('message', (report) => resolve(report as ClientReport));
    child.once('exit', (code) => reject(new Error(`the clients ended with ${code}`)));
  });
}

describe('resources of the client', () => {
  it('1,000 idle connections take less than 250 MB', async () => {
    const server = await aServer();

    const { before, after } = await runClients(server, { idle: 1_000, calls: 0 });

    // One of the warm-up calls' own connections may still have been closing.
    expect(after.sockets - before.sockets).toBeGreaterThan(990);
    const megabytes = Math.round((after.resident - before.resident) / 1e6);
    console.log(`1,000 idle connections: ${megabytes} MB`);
    expect(megabytes).toBeLessThan(250);
  }, 300_000);

  it('10,000 calls, some refused, cancelled or over connections of their own, leave nothing behind', async () => {
    const server = await aServer({
      machine: { etcdStatus: (_call, reply) => reply({ code: status.UNIMPLEMENTED }) },
    });

    const { before, after } = await runClients(server, { idle: 0, calls: 10_000 });

    expect(after.sockets).toBeLessThanOrEqual(before.sockets + 2);
    expect(after.heap - before.heap).toBeLessThan(4 * MIB);
  }, 300_000);
});

describe('a machine that loses its power', () => {
  it('ends a silent watch within 20 seconds, though no connection is closed', async () => {
    const server = await aServer({ state: { watch: (call) => call.write(WatchResponse.fromPartial({})) } });
    const proxy = await lossyProxy({ host: server.address, port: server.port });
    const machine = createTalosMachine({ name: 'cp1', address: '127.0.0.1', port: proxy.port, ...server.identity });
    const watching = (async () => {
      for await (const event of machine.watch(SERVICE)) throw new Error(`an event: ${event.type}`);
    })().catch((error: unknown) => error);
    await until(() => server.received.length === 1);

    const begin = performance.now();
    proxy.silence();
    const error = await watching;

    expect(error).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
    expect(String(error)).toContain('did not answer a ping for 5 s');
    expect(performance.now() - begin).toBeLessThan(20_000);
    machine.close();
    proxy.close();
  });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}
