import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, BadAnswerError, type Call, connect, type TrafficCredentials } from './traffic-http.ts';

export type { TrafficCredentials } from './traffic-http.ts';

/** How often and how long something was missing. */
export interface Outage {
  readonly times: number;
  readonly totalMs: number;
  readonly longestMs: number;
}

/** What steady clients of the Kubernetes API saw. */
export interface TrafficReport {
  /** Requests, however often they were tried. */
  readonly requests: number;
  /** Requests whose first attempt failed. */
  readonly retried: number;
  /** Requests that failed on every API server that the client knows. */
  readonly failed: number;
  /** Longest time that one client waited for one answer, its retry included. */
  readonly longestStallMs: number;
  /** Times at which no API server answered at all. */
  readonly allDown: Outage;
  /** Times at which no API server called itself ready; all of them do not while etcd has no leader. */
  readonly noneReady: Outage;
  /** Acknowledged writes that a later read did not find. */
  readonly lostWrites: number;
  /** The first requests that failed, each with its moment and what each API server said. */
  readonly failures: readonly string[];
  /** The first attempts that failed, in words. */
  readonly examples: readonly string[];
  /** When the first times began at which no API server answered: what else happened then is in other logs. */
  readonly silentSince: readonly string[];
  /** Failed attempts by API server. */
  readonly failedAttempts: Readonly<Record<string, number>>;
}

/** Steady readers and writers that run until they are stopped. */
export interface Traffic extends AsyncDisposable {
  /** What was seen so far. */
  report(): TrafficReport;
  /** From the next connection on, ask as somebody else or trust somebody else. */
  use(credentials: TrafficCredentials): void;
  /** Ends all clients, checks that no acknowledged write is lost, and reports. */
  stop(): Promise<TrafficReport>;
}

/** How much traffic, and where to. */
export interface TrafficOptions {
  /** URL of every API server. */
  readonly servers: readonly string[];
  readonly credentials: TrafficCredentials;
  /** Default 2 of each. */
  readonly readers?: number;
  readonly writers?: number;
  /** Pause of a client between two requests; default 50. */
  readonly everyMs?: number;
  /** When an attempt counts as failed; default 3000. */
  readonly timeoutMs?: number;
}

const NAMESPACE = 'default';

/** Pause before a failed attempt is followed by the next one, by how many have failed. */
const PAUSES_MS = [100, 400];

/**
 * Starts readers and writers that know all API servers. Each starts at a server
 * of its own, stays there while it answers, and after a failed attempt tries the
 * next one after a short pause, until each was tried once (a single one is tried
 * twice). A request counts as failed when every attempt failed.
 *
 * Two attempts without a pause were not enough, on a cluster that had lost nothing:
 * while the leader of etcd hands over, it refuses writes at once and drops the ones
 * that followers pass on to it, which they give up after 7 s
 * (docs/reference/talos-observed.md).
 */
export function startTraffic(options: TrafficOptions): Traffic {
  const { readers = 2, writers = 2, everyMs = 50, timeoutMs = 3_000, servers } = options;
  if (servers.length === 0) throw new Error('traffic needs at least one API server');
  const counts = createCounts();
  const [answering, ready] = [createAvailability(), createAvailability()];
  const acknowledged = new Map<string, number>();
  let connections = connect(options.credentials);
  let stopped = false;
  const send: Send = (server, call) => ask({ server, agent: connections.agentOf(server), timeoutMs, ...call });
  const client = (number: number) => createClient({ servers, first: number, send, counts });

  async function read(number: number): Promise<void> {
    const request = client(number);
    while (!stopped) {
      await request({ method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}` });
      await sleep(everyMs);
    }
  }
  async function write(number: number): Promise<void> {
    const request = client(number);
    const name = `ichor-traffic-${number}`;
    for (let sequence = 1; !stopped; sequence += 1) {
      if ((await request(applyConfigMap(name, sequence))) !== undefined) acknowledged.set(name, sequence);
      await sleep(everyMs);
    }
  }
  async function watchAvailability(): Promise<void> {
    while (!stopped) {
      const states = await Promise.all(servers.map((server) => stateOf(server, send)));
      answering.note(states.some((state) => state !== 'down'));
      ready.note(states.includes('ready'));
      await sleep(100);
    }
  }

  const clients = [
    ...Array.from({ length: readers }, (_, number) => read(number)),
    ...Array.from({ length: writers }, (_, number) => write(readers + number)),
    watchAvailability(),
  ];
  const report = () => ({
    ...counts.report(),
    allDown: answering.report(),
    noneReady: ready.report(),
    silentSince: answering.began(),
  });
  async function stop(): Promise<TrafficReport> {
    if (stopped) return report();
    stopped = true;
    await Promise.all(clients);
    counts.lost(await countLostWrites(client(0), acknowledged));
    connections.close();
    return report();
  }
  return {
    report,
    stop,
    use(credentials) {
      const before = connections;
      connections = connect(credentials);
      before.closeWhenIdle();
    },
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

type Send = (server: string, call: Call) => Promise<string>;

/** A client's way to ask: answers the body, or undefined when every attempt failed. */
type SteadyRequest = (call: Call) => Promise<string | undefined>;

function createClient(options: {
  servers: readonly string[];
  first: number;
  send: Send;
  counts: Counts;
}): SteadyRequest {
  const { servers, send, counts } = options;
  const attempts = Math.max(2, servers.length);
  let current = options.first;
  return async (call) => {
    const begin = performance.now();
    const said: string[] = [];
    async function attempt(): Promise<string | undefined> {
      const server = servers[current % servers.length] ?? '';
      try {
        return await send(server, call);
      } catch (error) {
        said.push(`${server}: ${(error as Error).message}`);
        counts.attemptFailed(server, `${call.method} ${server}${call.path}: ${(error as Error).message}`);
        current += 1;
        return undefined;
      }
    }
    let answer = await attempt();
    while (answer === undefined && said.length < attempts) {
      await sleep(PAUSES_MS[said.length - 1] ?? PAUSES_MS.at(-1));
      answer = await attempt();
    }
    const tookMs = Math.round(performance.now() - begin);
    counts.requestDone({ retried: said.length > 0, failed: answer === undefined, tookMs });
    if (answer === undefined) counts.requestFailed(`${call.method} ${call.path}: ${said.join('; ')}, in ${tookMs} ms`);
    return answer;
  };
}

/** What a server says of itself. */
async function stateOf(server: string, send: Send): Promise<'ready' | 'answers' | 'down'> {
  try {
    await send(server, { method: 'GET', path: '/readyz' });
    return 'ready';
  } catch (error) {
    return error instanceof BadAnswerError ? 'answers' : 'down';
  }
}

/** How many acknowledged changes a later read does not find; an unreadable one counts whole. */
async function countLostWrites(request: SteadyRequest, acknowledged: ReadonlyMap<string, number>): Promise<number> {
  let lost = 0;
  for (const [name, sequence] of acknowledged) {
    const text = await request({ method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}` });
    const found = text === undefined ? 0 : Number((JSON.parse(text) as { data: { sequence: string } }).data.sequence);
    lost += Math.max(0, sequence - found);
  }
  return lost;
}

/** Server-side apply creates and changes alike. */
function applyConfigMap(name: string, sequence: number): Call {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { sequence: String(sequence) } };
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}?fieldManager=ichor-traffic&force=true`;
  return { method: 'PATCH', path, body: JSON.stringify(body) };
}

/** How many events of one kind are kept in words. */
const KEPT = 20;

/** Takes down that something happened now, and what, as one of the first of its kind. */
function keep(list: string[], ...what: readonly string[]): void {
  if (list.length < KEPT) list.push([new Date().toISOString(), ...what].join(' '));
}

type Counts = ReturnType<typeof createCounts>;

function createCounts() {
  const totals = { requests: 0, retried: 0, failed: 0, longestStallMs: 0, lostWrites: 0 };
  const examples: string[] = [];
  const failures: string[] = [];
  const failedAttempts: Record<string, number> = {};
  return {
    attemptFailed(server: string, what: string): void {
      failedAttempts[server] = (failedAttempts[server] ?? 0) + 1;
      keep(examples, what);
    },
    requestFailed(what: string): void {
      keep(failures, what);
    },
    requestDone({ retried, failed, tookMs }: { retried: boolean; failed: boolean; tookMs: number }): void {
      totals.requests += 1;
      if (retried) totals.retried += 1;
      if (failed) totals.failed += 1;
      totals.longestStallMs = Math.max(totals.longestStallMs, tookMs);
    },
    lost(writes: number): void {
      totals.lostWrites = writes;
    },
    report: () => ({
      ...totals,
      failures: [...failures],
      examples: [...examples],
      failedAttempts: { ...failedAttempts },
    }),
  };
}

/** Adds up the times at which nothing answered. */
function createAvailability() {
  let downSince: number | undefined;
  const began: string[] = [];
  const totals = { times: 0, totalMs: 0, longestMs: 0 };
  const lastedMs = () => (downSince === undefined ? 0 : Math.round(performance.now() - downSince));
  return {
    note(anyAnswered: boolean): void {
      if (!anyAnswered && downSince === undefined) {
        downSince = performance.now();
        totals.times += 1;
        keep(began);
      } else if (anyAnswered && downSince !== undefined) {
        totals.totalMs += lastedMs();
        totals.longestMs = Math.max(totals.longestMs, lastedMs());
        downSince = undefined;
      }
    },
    began: (): string[] => [...began],
    report: (): Outage => ({
      times: totals.times,
      totalMs: totals.totalMs + lastedMs(),
      longestMs: Math.max(totals.longestMs, lastedMs()),
    }),
  };
}

/** The administrator's credentials in a kubeconfig that Talos wrote: inline base64, one user, one cluster. */
export function kubeconfigCredentials(text: string): TrafficCredentials {
  const field = (name: string) => {
    const found = new RegExp(`${name}: (\\S+)`).exec(text)?.[1];
    if (found === undefined) throw new Error(`the kubeconfig has no ${name}`);
    return Buffer.from(found, 'base64').toString();
  };
  return {
    ca: field('certificate-authority-data'),
    cert: field('client-certificate-data'),
    key: field('client-key-data'),
  };
}
