/**
 * Clients of the Talos API in a process of their own, so that their memory can be
 * measured. Told what to do by its parent, answers with what it measured.
 */
import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import { parseCertificate, Secret } from '../../pkg/pki/index.ts';
import { createTalosMachine, type Identity, type TalosMachine } from '../../pkg/talos/index.ts';

/** An order of the parent: connect that many machines and leave them idle, or make that many calls on one. */
export interface ClientOrder {
  readonly address: string;
  readonly port: number;
  readonly trust: string;
  readonly certificate: string;
  readonly key: string;
  readonly idle: number;
  readonly calls: number;
}

/** Memory in bytes, sockets open now. `before` is with everything loaded and one machine called. */
export interface ClientReport {
  readonly before: { readonly resident: number; readonly heap: number; readonly sockets: number };
  readonly after: { readonly resident: number; readonly heap: number; readonly sockets: number };
}

process.once('message', async (order: ClientOrder) => {
  const identity: Identity = {
    trust: [parseCertificate(order.trust)],
    credentials: { certificate: parseCertificate(order.certificate), key: Secret.of('private-key', order.key) },
  };
  const connect = () => createTalosMachine({ name: 'cp', address: order.address, port: order.port, ...identity });
  const first = connect();
  await callMany(first, 500);
  const before = measure();
  const idle = await connectMany(connect, order.idle);
  await callMany(first, order.calls);
  const after = measure();
  for (const machine of [first, ...idle]) machine.close();
  process.send?.({ before, after } satisfies ClientReport, () => process.disconnect());
});

async function connectMany(connect: () => TalosMachine, count: number): Promise<TalosMachine[]> {
  const machines: TalosMachine[] = [];
  while (machines.length < count) {
    const some = Array.from({ length: Math.min(20, count - machines.length) }, connect);
    await Promise.all(some.map((machine) => machine.version()));
    machines.push(...some);
  }
  return machines;
}

/** Nearly all over the shared connection, one in a hundred over one of its own, some of them cancelled or refused. */
async function callMany(machine: TalosMachine, count: number): Promise<void> {
  for (let done = 0; done < count; done += 100) {
    const controller = new AbortController();
    const refused = machine.etcd.status().catch(() => {});
    const cancelled = machine.version({ signal: controller.signal }).catch(() => {});
    controller.abort();
    const others = Array.from({ length: 97 }, () => machine.version());
    await Promise.all([refused, cancelled, machine.version({ fresh: true }), ...others]);
  }
}

function measure() {
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const sockets = readdirSync('/proc/self/fd').length;
  return { resident: rss, heap: heapUsed, sockets };
}
