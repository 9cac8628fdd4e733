import type { Certificate, CertificateAndKey } from '../pki/index.ts';
import { createConfigurationCalls } from './calls/configuration.ts';
import { createEtcdCalls } from './calls/etcd.ts';
import { createEventCalls } from './calls/events.ts';
import { createFileCalls } from './calls/files.ts';
import { createIdentityCalls } from './calls/identity.ts';
import { createResourceCalls } from './calls/resources.ts';
import { createServiceCalls } from './calls/services.ts';
import { createSystemCalls } from './calls/system.ts';
import { createInvoker } from './invoke.ts';
import type { Deadlines, TalosMachine } from './machine.ts';
import { createChannel } from './transport/channel.ts';

/** Port of the Talos API (`constants.ApidPort`). */
export const APID_PORT = 50_000;

const DEADLINES: Deadlines = { readMs: 10_000, changeMs: 30_000, streamMs: 120_000, watchMs: 600_000 };

export interface TalosMachineOptions {
  /** For messages: what people call this machine. */
  readonly name: string;
  /** IP address or host name; must be in the served certificate, unless `servername` says another name. */
  readonly address: string;
  /** Default 50000. */
  readonly port?: number;
  readonly servername?: string;
  /** CAs that may have signed what the machine serves; during a rotation the old and the new one. */
  readonly trust: readonly Certificate[];
  /** Our client certificate; its Organization holds the roles. */
  readonly credentials: CertificateAndKey;
  readonly deadlines?: Partial<Deadlines>;
  /** Our clock in ms since the epoch, for `time`. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * A client for the Talos API of one machine. Nothing is connected until the first
 * call. Close it when done.
 */
export function createTalosMachine(options: TalosMachineOptions): TalosMachine {
  const port = options.port ?? APID_PORT;
  const ended = new AbortController();
  const channel = createChannel(
    { host: options.address, port, ...(options.servername !== undefined && { servername: options.servername }) },
    { trust: options.trust, credentials: options.credentials },
  );
  const invoker = createInvoker({ name: options.name, where: `${options.address}:${port}` }, channel, ended.signal);
  const deadlines = { ...DEADLINES, ...options.deadlines };
  const context = { invoker, deadlines, now: options.now ?? Date.now };
  const resources = createResourceCalls(context);
  const files = createFileCalls(context);
  return {
    name: options.name,
    address: options.address,
    port,
    ...createSystemCalls(context, { resources, files }),
    ...createConfigurationCalls(context),
    ...createServiceCalls(context),
    etcd: createEtcdCalls(context),
    ...resources,
    ...createIdentityCalls(context),
    ...files,
    ...createEventCalls(context),
    use: (identity) => channel.use(identity),
    reconnect: () => channel.reconnect(),
    close() {
      ended.abort();
      channel.close();
    },
  };
}
