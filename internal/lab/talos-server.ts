import { performServerHandshake } from 'node:http2';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';
import { APID_PORT } from '../../pkg/talos/index.ts';
import type { SimMachine } from '../simulator/index.ts';
import { serveEtcdMetrics } from './etcd-metrics.ts';
import type { LabWorld, Served } from './served.ts';
import { serveApid } from './talos/apid.ts';
import { type Boot, createBoot } from './talos/boot.ts';
import { CODE, GrpcError, serveCall } from './talos/grpc.ts';
import { createProxy } from './talos/proxy.ts';
import { serveTrustd } from './talos/trustd.ts';
import { createTlsListener, type TlsClient, type TlsListener, type TlsMaterial } from './tls-listener.ts';

const TRUSTD_PORT = 50_001;
const ETCD_CLIENT_PORT = 2_379;
const ETCD_PEER_PORT = 2_380;

/** One port: when it is there, what it has in memory, and what it does with a client. */
interface Port {
  readonly port: number;
  readonly alpn: readonly string[];
  /** Undefined while nothing listens. */
  material(): TlsMaterial | undefined;
  serve(client: TlsClient): void;
}

/**
 * The Talos API of one machine (apid), and the TLS of trustd and etcd. Which
 * certificate is served and who is accepted is what the process of the world has in
 * its memory at the moment of each handshake.
 */
export function serveTalos(lab: LabWorld, machine: SimMachine): Served {
  let boot: Boot | undefined;
  const firstEndpoint = machine.view.endpoint;
  let identity = '';
  const proxy = createProxy({
    port: APID_PORT,
    identity: () => ({
      trust: machine.api.accepted,
      credentials: lab.certificates.leaf(machine, 'apid-client', machine.api.issuer),
    }),
  });
  const listeners = new Map<number, TlsListener>();
  const metrics = serveEtcdMetrics(lab, machine);
  const closing = new Set<Promise<void>>();
  const ports = portsOf(lab, machine, {
    apid: (client) => serveApid({ lab, boot: () => boot, proxy }, client),
    trustd: (client) => serveTrustd(() => boot, client),
  });

  function follow(port: Port): void {
    const listener = listeners.get(port.port);
    const material = machine.isUp ? port.material() : undefined;
    if (material === undefined) {
      if (listener === undefined) return;
      listeners.delete(port.port);
      const closed = listener.close();
      closing.add(closed);
      void closed.then(() => closing.delete(closed));
      return;
    }
    if (listener !== undefined) {
      listener.use(material);
      return;
    }
    const opened = open(lab, machine, port, material);
    listeners.set(port.port, opened);
    if (machine.isCutOff) opened.freeze();
  }

  let isCutOff = machine.isCutOff;
  function followNetwork(): void {
    if (machine.isCutOff === isCutOff) return;
    isCutOff = machine.isCutOff;
    for (const listener of listeners.values()) {
      if (isCutOff) listener.freeze();
      else listener.thaw();
    }
  }

  function followBoot(): void {
    if (!machine.isUp) {
      boot = undefined;
      proxy.close();
      return;
    }
    if (boot?.id !== machine.bootId) boot = createBoot(lab, machine, firstEndpoint);
    boot.observe();
    const next = JSON.stringify([machine.api.issuer, machine.api.accepted.map(({ fingerprint }) => fingerprint)]);
    if (next !== identity) proxy.flush();
    identity = next;
  }

  return {
    sync() {
      followBoot();
      followNetwork();
      for (const port of ports) follow(port);
      metrics.sync();
    },
    async close() {
      proxy.close();
      for (const listener of listeners.values()) closing.add(listener.close());
      listeners.clear();
      boot = undefined;
      await Promise.all([...closing, metrics.close()]);
    },
  };
}

function open(lab: LabWorld, machine: SimMachine, port: Port, material: TlsMaterial): TlsListener {
  const listener = createTlsListener({
    address: machine.address,
    port: port.port,
    alpn: port.alpn,
    material,
    now: () => lab.world.clock.now(),
    onClient: port.serve,
    onRefusal: (detail) => lab.log(machine.name, `port ${port.port}: remote error: ${detail}`),
  });
  listener.ready.catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    lab.log(machine.name, `port ${port.port} cannot be served: ${why}`);
  });
  return listener;
}

/** What is done with clients that were let in. */
interface Services {
  apid(client: TlsClient): void;
  trustd(client: TlsClient): void;
}

function portsOf(lab: LabWorld, machine: SimMachine, serve: Services): readonly Port[] {
  const { certificates } = lab;
  const { plane } = machine;
  const apid: Port = {
    port: APID_PORT,
    alpn: ['h2'],
    material: () => ({
      served: certificates.leaf(machine, 'apid-server', machine.api.issuer),
      accepts: machine.api.accepted,
    }),
    serve: serve.apid,
  };
  if (plane === undefined) return [apid];
  const pool = (): Certificate[] => plane.etcd.pool.flatMap((ca: Fingerprint) => certificates.ca(ca) ?? []);
  const etcd = (port: number, use: 'etcd-server' | 'etcd-peer'): Port => ({
    port,
    alpn: ['h2', 'http/1.1'],
    material: () =>
      plane.etcd.isRunning ? { served: certificates.leaf(machine, use, plane.etcdLeaf), accepts: pool() } : undefined,
    serve: speakNothing,
  });
  const trustd: Port = {
    port: TRUSTD_PORT,
    alpn: ['h2'],
    // It knows its callers by their token, not by a certificate.
    material: () => ({ served: certificates.leaf(machine, 'trustd-server', machine.api.issuer), accepts: undefined }),
    serve: serve.trustd,
  };
  return [apid, trustd, etcd(ETCD_CLIENT_PORT, 'etcd-server'), etcd(ETCD_PEER_PORT, 'etcd-peer')];
}

/** HTTP/2 that answers no call: of etcd, a lab has the handshake; its members talk in memory. */
function speakNothing({ socket }: TlsClient): void {
  const session = performServerHandshake(socket);
  session.on('error', () => undefined);
  session.on('stream', (stream, headers) => {
    if (!('respond' in stream)) return;
    const refusal = new GrpcError(CODE.unimplemented, 'a lab answers no calls on this port');
    void serveCall(stream, headers, () => Promise.reject(refusal));
  });
}
