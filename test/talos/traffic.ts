import { Agent, request } from 'node:https';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** Who asks, and whom it trusts; PEM texts. */
export interface TrafficCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** What steady clients of the Kubernetes API saw. */
export interface TrafficReport {
  /** Requests, however often they were tried. */
  readonly requests: number;
  /** Requests whose first attempt failed. */
  readonly retried: number;
  /** Requests that failed on two API servers. */
  readonly failed: number;
  /** Longest time that one client waited for one answer, its retry included. */
  readonly longestStallMs: number;
  /** Times at which no API server answered its readiness check, and for how long. */
  readonly allDown: { readonly times: number; readonly totalMs: number; readonly longestMs: number };
  /** Acknowledged writes that a later read did not find. */
  readonly lostWrites: number;
  /** The first failures, in words. */
  readonly examples: readonly string[];
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

/**
 * Starts readers and writers that know all API servers. Each starts at a server
 * of its own, stays there while it answers, and after a failed attempt tries the
 * next one once. A request counts as failed when both attempts failed.
 */
export function startTraffic(options: TrafficOptions): Traffic {
  const { readers = 2, writers = 2, everyMs = 50, timeoutMs = 3_000 } = options;
  const counts = { requests: 0, retried: 0, failed: 0, longestStallMs: 0, lostWrites: 0 };
  const examples: string[] = [];
  const failedAttempts: Record<string, number> = {};
  const acknowledged = new Map<string, number>();
  const availability = createAvailability(options.servers);
  let connections = connect(options.credentials);
  let stopped = false;

  async function attempt(server: string, call: Call): Promise<string> {
    try {
      return await ask({ server, agent: connections.agentOf(server), timeoutMs, ...call });
    } catch (error) {
      failedAttempts[server] = (failedAttempts[server] ?? 0) + 1;
      const text = `${new Date().toISOString()} ${call.method} ${server}${call.path}: ${(error as Error).message}`;
      if (examples.length < 20) examples.push(text);
      throw error;
    }
  }

  /** One request, with one retry on another server; answers undefined when it failed. */
  async function twice(client: { server: number }, call: Call): Promise<string | undefined> {
    const begin = performance.now();
    counts.requests += 1;
    try {
      return await attempt(serverOf(options.servers, client.server), call);
    } catch {
      counts.retried += 1;
      client.server += 1;
      try {
        return await attempt(serverOf(options.servers, client.server), call);
      } catch {
        counts.failed += 1;
        client.server += 1;
        return undefined;
      }
    } finally {
      counts.longestStallMs = Math.max(counts.longestStallMs, Math.round(performance.now() - begin));
    }
  }

  async function read(number: number): Promise<void> {
    const client = { server: number };
    while (!stopped) {
      await twice(client, { method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}` });
      await sleep(everyMs);
    }
  }

  async function write(number: number): Promise<void> {
    const client = { server: number };
    const name = `ichor-traffic-${number}`;
    for (let sequence = 1; !stopped; sequence += 1) {
      const done = await twice(client, applyConfigMap(name, sequence));
      if (done !== undefined) acknowledged.set(name, sequence);
      await sleep(everyMs);
    }
  }

  async function watchAvailability(): Promise<void> {
    while (!stopped) {
      const call = { method: 'GET', path: '/readyz' } as const;
      const answered = await Promise.all(
        options.servers.map((server) =>
          ask({ server, agent: connections.agentOf(server), timeoutMs: 1_000, ...call }).then(
            () => true,
            () => false,
          ),
        ),
      );
      availability.note(answered.some(Boolean));
      await sleep(100);
    }
  }

  async function countLostWrites(): Promise<void> {
    for (const [name, sequence] of acknowledged) {
      const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`;
      const text = await twice({ server: 0 }, { method: 'GET', path });
      const found = text === undefined ? 0 : Number((JSON.parse(text) as { data: { sequence: string } }).data.sequence);
      if (found < sequence) counts.lostWrites += sequence - found;
    }
  }

  const report = (): TrafficReport => ({
    ...counts,
    allDown: availability.report(),
    examples: [...examples],
    failedAttempts: { ...failedAttempts },
  });
  const clients = [
    ...Array.from({ length: readers }, (_, number) => read(number)),
    ...Array.from({ length: writers }, (_, number) => write(number)),
    watchAvailability(),
  ];
  async function stop(): Promise<TrafficReport> {
    if (!stopped) {
      stopped = true;
      await Promise.all(clients);
      await countLostWrites();
      connections.close();
    }
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

interface Call {
  readonly method: 'GET' | 'PATCH';
  readonly path: string;
  readonly body?: string;
}

/** Server-side apply creates and changes alike. */
function applyConfigMap(name: string, sequence: number): Call {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { sequence: String(sequence) } };
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}?fieldManager=ichor-traffic&force=true`;
  return { method: 'PATCH', path, body: JSON.stringify(body) };
}

/** One kept-alive agent per server. */
function connect({ ca, cert, key }: TrafficCredentials) {
  const agents = new Map<string, Agent>();
  const close = () => {
    for (const agent of agents.values()) agent.destroy();
  };
  return {
    agentOf(server: string): Agent {
      const found = agents.get(server) ?? new Agent({ keepAlive: true, ca, cert, key, maxFreeSockets: 8 });
      agents.set(server, found);
      return found;
    },
    close,
    /** Requests in flight on old connections finish; a timeout ends those that never would. */
    closeWhenIdle: () => setTimeout(close, 5_000).unref(),
  };
}

function ask(options: Call & { server: string; agent: Agent; timeoutMs: number }): Promise<string> {
  const { server, agent, timeoutMs, method, path, body } = options;
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/apply-patch+yaml' };
    const asked = request(`${server}${path}`, { method, agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode !== undefined && answer.statusCode < 300) resolve(text);
        else reject(new Error(`status ${answer.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    const timer = setTimeout(() => asked.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
    asked.on('close', () => clearTimeout(timer));
    asked.on('error', reject);
    asked.end(body);
  });
}

function serverOf(servers: readonly string[], number: number): string {
  const server = servers[number % servers.length];
  if (server === undefined) throw new Error('traffic needs at least one API server');
  return server;
}

/** Adds up the times at which nothing answered. */
function createAvailability(servers: readonly string[]) {
  let downSince: number | undefined;
  const totals = { times: 0, totalMs: 0, longestMs: 0 };
  if (servers.length === 0) throw new Error('traffic needs at least one API server');
  return {
    note(anyAnswered: boolean): void {
      const now = performance.now();
      if (!anyAnswered && downSince === undefined) {
        downSince = now;
        totals.times += 1;
      } else if (anyAnswered && downSince !== undefined) {
        const lasted = Math.round(now - downSince);
        totals.totalMs += lasted;
        totals.longestMs = Math.max(totals.longestMs, lasted);
        downSince = undefined;
      }
    },
    report: () => ({ ...totals }),
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
