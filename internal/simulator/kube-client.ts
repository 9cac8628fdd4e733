import {
  type KubeClient,
  type KubeClientOptions,
  KubeError,
  type KubeErrorKind,
  type KubeRequest,
  type StatusCause,
} from '../../pkg/kube/index.ts';
import { type FaultPlan, never, type SimProcess } from './faults.ts';
import { type ApiReply, answer } from './kube-api.ts';
import type { SimMachine } from './machine.ts';
import type { Mint } from './mint.ts';
import { isListening, servingIssuer } from './transitions.ts';
import { withoutStack } from './without-stack.ts';
import type { World } from './world.ts';

/** Everything that a client of a simulated API server needs. */
export interface SimKubeOptions {
  readonly world: World<Mint>;
  readonly process: SimProcess;
  readonly faults: FaultPlan;
  readonly options: KubeClientOptions;
}

const DEADLINE_MS = 30_000;

/** A client of the API server on one simulated control plane. */
export function createSimKube({ world, process, faults, options }: SimKubeOptions): KubeClient {
  const { server } = options;
  const { hostname: address, port: written } = new URL(server);
  // A URL leaves the port of its scheme out.
  const port = Number(written || 443);
  /** What this client has read; the log keeps each once. */
  const asked = new Set<string>();

  function fail(request: KubeRequest, kind: KubeErrorKind, found: string): KubeError {
    return withoutStack(() => new KubeError({ kind, server, doing: request.doing, found, outcome: 'not-done' }));
  }

  /** The machine whose API server takes us for somebody. */
  function enter(request: KubeRequest): SimMachine {
    const machine = world.at(address);
    if (machine?.plane?.apiServer.port !== port || !isListening(world, machine)) {
      throw fail(request, 'unreachable', `connect ECONNREFUSED ${address}:${port}`);
    }
    if (!options.trust.some((ca) => ca.fingerprint === servingIssuer(machine))) {
      throw fail(request, 'untrusted-server', 'its certificate is by no CA that we trust');
    }
    const { credentials } = options;
    const issuer = credentials.kind === 'certificate' ? world.mint.issuerOf(credentials.certificate) : undefined;
    // Whether a certificate is taken is asked anew at every request.
    if (!(machine.taken.kubernetes?.accepted ?? []).some((ca) => ca.fingerprint === issuer)) {
      throw fail(request, 'unauthorized', 'Unauthorized');
    }
    return machine;
  }

  function perform(request: KubeRequest): unknown {
    const { method, path, query = {}, body } = request;
    const reply = answer(world, enter(request), { method, path, query, body });
    const isFine = reply.status < 300 || request.alsoAccept?.includes(reply.status) === true;
    if (!isFine) throw errorOf(server, request, reply);
    return reply.body;
  }

  async function write<T>(request: KubeRequest): Promise<T> {
    faults.log.requests.add(`${request.method} ${request.path}`);
    enter(request);
    const silence = (): KubeError =>
      new KubeError({ kind: 'timeout', server, doing: request.doing, found: 'no reply', outcome: 'unknown' });
    return faults.make(process, {
      name: `${request.method} ${kindOf(request.path)}`,
      deadlineMs: request.deadlineMs ?? DEADLINE_MS,
      perform: () => perform(request) as T,
      canLand: () => world.at(address)?.isUp === true,
      refusal: () => fail(request, 'server-error', 'etcdserver: leader changed'),
      silence,
    });
  }

  return {
    server,
    request<T>(request: KubeRequest): Promise<T> {
      if (process.isDead) return never();
      if (request.method !== 'GET') return write<T>(request);
      if (!asked.has(request.path)) {
        asked.add(request.path);
        faults.log.requests.add(`GET ${request.path}`);
      }
      // As in the Talos client: it is answered at once, and a promise is made of the answer alone.
      try {
        return Promise.resolve(perform(request) as T);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    watch() {
      throw new KubeError({
        kind: 'discovery',
        server,
        doing: 'watch',
        found: 'the simulated API server has no watches',
        outcome: 'not-done',
      });
    },
    close() {},
  };
}

/** The resource of a path, without names. */
function kindOf(path: string): string {
  const parts = path.split('/');
  return ['eviction', 'nodes', 'configmaps', 'deployments'].find((kind) => parts.includes(kind)) ?? path;
}

const KINDS: Readonly<Record<number, KubeErrorKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  409: 'conflict',
  410: 'expired',
  422: 'invalid',
  429: 'too-many-requests',
  500: 'server-error',
};

function errorOf(server: string, { doing }: KubeRequest, { status, body }: ApiReply): KubeError {
  const { reason, message, details } = body as {
    reason: string;
    message: string;
    details?: { name?: string; causes?: readonly StatusCause[] };
  };
  // As over the wire: a 404 that names no object is about a path that is not served.
  const isUnserved = status === 404 && details?.name === undefined;
  return withoutStack(
    () =>
      new KubeError({
        kind: isUnserved ? 'discovery' : (KINDS[status] ?? 'unexpected-reply'),
        server,
        doing,
        found: message,
        outcome: 'not-done',
        status,
        reason,
        causes: details?.causes,
      }),
  );
}
