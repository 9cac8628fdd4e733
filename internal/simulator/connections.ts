import type { Certificate } from '../../pkg/pki/index.ts';
import type { TlsProbe, TlsProbeOptions } from '../../pkg/talos/index.ts';
import type { Connections, HttpsOutcome, HttpsProbe } from '../controller/index.ts';
import { type FaultPlan, never, type SimProcess } from './faults.ts';
import { createSimKube } from './kube-client.ts';
import type { SimMachine } from './machine.ts';
import type { Mint } from './mint.ts';
import { createSimTalos } from './talos-client.ts';
import { isListening, servingIssuer } from './transitions.ts';
import type { World } from './world.ts';

/** The connections of one process of ours into a simulated world. */
export function createSimConnections(world: World<Mint>, process: SimProcess, faults: FaultPlan): Connections {
  return {
    talos: ({ name, address, trust, credentials }) =>
      createSimTalos({ world, process, faults, name, address, identity: { trust, credentials } }),
    kube: (options) => createSimKube({ world, process, faults, options }),
    probeTls: async (options) => (process.isDead ? never() : probeTls(world, options)),
    probeHttps: async (probe) => (process.isDead ? never() : probeHttps(world, probe)),
  };
}

/** What listens on a port: who signed what it serves, and which client certificates it takes. */
interface Endpoint {
  readonly issuer: string;
  /** Undefined where it asks for none. */
  readonly accepts: readonly string[] | undefined;
}

function isReachable(world: Pick<World, 'at' | 'closedPorts'>, host: string, port: number): boolean {
  const machine = world.at(host);
  return machine?.isUp === true && !machine.isCutOff && !world.closedPorts.includes(port);
}

function endpointOf(world: World, host: string, port: number): Endpoint | undefined {
  const machine = world.at(host);
  if (machine === undefined || !isReachable(world, host, port)) return undefined;
  const { api, plane } = machine;
  const prints = (certificates: readonly Certificate[]): string[] => certificates.map((each) => each.fingerprint);
  if (port === 50_000) return { issuer: api.issuer, accepts: prints(api.accepted) };
  if (plane === undefined) return undefined;
  if (port === 50_001) return { issuer: api.issuer, accepts: undefined };
  if (port === plane.apiServer.port) {
    return isListening(world, machine) ? { issuer: servingIssuer(machine), accepts: undefined } : undefined;
  }
  if (port === 2379 || port === 2380) {
    return plane.etcd.isRunning ? { issuer: plane.etcdLeaf, accepts: plane.etcd.pool } : undefined;
  }
  return undefined;
}

function probeTls(world: World<Mint>, options: TlsProbeOptions): TlsProbe {
  const { host, port, trust, credentials } = options;
  if (port === 10_250 && world.at(host)?.kubelet.isRunning === true && isReachable(world, host, port)) {
    // A kubelet serves a certificate that it signed itself.
    return { verdict: 'untrusted-server', detail: 'DEPTH_ZERO_SELF_SIGNED_CERT', chain: [], tookMs: 1 };
  }
  const endpoint = endpointOf(world, host, port);
  if (endpoint === undefined) {
    return { verdict: 'unreachable', detail: `connect ECONNREFUSED ${host}:${port}`, chain: [], tookMs: 1 };
  }
  const chain = world.mint.pair(endpoint.issuer as never).certificates;
  if (!trust.some((ca) => ca.fingerprint === endpoint.issuer)) {
    return { verdict: 'untrusted-server', detail: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', chain, tookMs: 1 };
  }
  const issuer = credentials === undefined ? undefined : world.mint.issuerOf(credentials.certificate);
  if (endpoint.accepts !== undefined && !endpoint.accepts.includes(issuer ?? '')) {
    return { verdict: 'untrusted-client', detail: 'tlsv1 alert unknown ca', chain, tookMs: 1 };
  }
  return { verdict: 'accepted', detail: 'TLSv1.3 h2', chain, tookMs: 1 };
}

function probeHttps(world: World<Mint>, probe: HttpsProbe): HttpsOutcome {
  const machine = world.at(probe.address);
  const issuer = world.mint.issuerOf(probe.credentials.certificate);
  const down: HttpsOutcome = { kind: 'unreachable', message: `connect ECONNREFUSED ${probe.address}:${probe.port}` };
  if (machine === undefined || !isReachable(world, probe.address, probe.port)) return down;
  if (probe.port === 10_250) {
    if (!machine.kubelet.isRunning) return down;
    return { kind: 'answered', status: machine.kubelet.trust.includes(issuer as never) ? 200 : 401 };
  }
  if (probe.port !== machine.plane?.apiServer.port || !isListening(world, machine)) return down;
  return { kind: 'answered', status: authenticates(machine, probe, issuer) ? 200 : 401 };
}

/** As a user by the client CA, or as a front proxy by the aggregator's. */
function authenticates(machine: SimMachine, probe: HttpsProbe, issuer: string | undefined): boolean {
  const { kubernetes, aggregator } = machine.taken;
  const isProxy = probe.headers?.['X-Remote-User'] !== undefined;
  const accepted = isProxy ? aggregator?.accepted : kubernetes?.accepted;
  return (accepted ?? []).some((ca) => ca.fingerprint === issuer);
}
