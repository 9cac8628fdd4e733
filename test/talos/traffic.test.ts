import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTraffic, type TrafficCredentials } from './traffic.ts';
import { waitFor } from './wait.ts';

/** What a small API server does with each request; tests change it. */
interface Behaviour {
  status: number;
  hang: boolean;
  forget: boolean;
}

describe('steady traffic', () => {
  let credentials: TrafficCredentials;
  let folder: string;
  let servers: { server: Server; url: string; behaviour: Behaviour }[];
  let stored: Map<string, string>;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ichor-traffic-'));
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
    const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const subject = ['-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1'];
    execFileSync('openssl', [...request, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
    const text = readFileSync(cert, 'utf8');
    credentials = { ca: text, cert: text, key: readFileSync(key, 'utf8') };
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  beforeEach(async () => {
    stored = new Map();
    servers = await Promise.all([0, 1, 2].map(() => apiServer()));
  });

  afterEach(() => {
    for (const { server } of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function apiServer() {
    const behaviour: Behaviour = { status: 200, hang: false, forget: false };
    const { cert, key } = credentials;
    const server = createServer({ cert, key }, async (request, response) => {
      if (behaviour.hang) return;
      const [path = ''] = (request.url ?? '').split('?');
      let body = '';
      for await (const chunk of request) body += String(chunk);
      if (request.method === 'PATCH' && !behaviour.forget) stored.set(path, body);
      response.writeHead(behaviour.status).end(request.method === 'PATCH' ? body : (stored.get(path) ?? '{}'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, behaviour, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  const start = () =>
    startTraffic({ servers: servers.map(({ url }) => url), credentials, everyMs: 5, timeoutMs: 3_000 });

  it('counts no failure while all servers answer', async () => {
    const traffic = start();
    await waitFor('requests', 60_000, () => traffic.report().requests >= 100, 10);

    expect(await traffic.stop()).toMatchObject({
      retried: 0,
      failed: 0,
      lostWrites: 0,
      allDown: { times: 0, totalMs: 0, longestMs: 0 },
      noneReady: { times: 0, totalMs: 0, longestMs: 0 },
      examples: [],
      failures: [],
      silentSince: [],
    });
  });

  it('asks the next server when one refuses, and names it', async () => {
    const traffic = start();
    const second = servers[1];
    if (second !== undefined) second.behaviour.status = 500;
    await waitFor('a retry', 60_000, () => traffic.report().retried >= 1, 10);

    const report = await traffic.stop();

    expect(report.failed).toBe(0);
    expect(Object.keys(report.failedAttempts)).toEqual([second?.url]);
    expect(report.examples[0]).toContain('status 500');
  });

  it('a server that hangs is a stall of the timeout, not a failure', async () => {
    const traffic = start();
    const third = servers[2];
    if (third !== undefined) third.behaviour.hang = true;
    await waitFor('a retry', 60_000, () => traffic.report().retried >= 1, 10);

    const report = await traffic.stop();

    expect(report.failed).toBe(0);
    expect(report.longestStallMs).toBeGreaterThanOrEqual(3_000);
    expect(report.examples[0]).toContain('no answer in 3000 ms');
  });

  it('a request that one of three servers answers is not a failed one', async () => {
    const traffic = start();
    for (const { behaviour } of servers.slice(0, 2)) behaviour.status = 500;
    await waitFor('retries', 60_000, () => traffic.report().retried >= 2, 10);

    const report = await traffic.stop();

    expect(report.failed).toBe(0);
    expect(Object.keys(report.failedAttempts).sort()).toEqual([servers[0]?.url, servers[1]?.url].sort());
    // Two pauses of 100 and 400 ms; a timer may be a moment early.
    expect(report.longestStallMs).toBeGreaterThanOrEqual(490);
  });

  it('counts requests that every server refuses, and the time in which none was ready though all answered', async () => {
    const traffic = start();
    for (const { behaviour } of servers) behaviour.status = 503;
    await waitFor('failures', 60_000, () => traffic.report().failed >= 3 && traffic.report().noneReady.times === 1, 10);
    for (const { behaviour } of servers) behaviour.status = 200;
    const before = traffic.report().requests;
    await waitFor('requests', 60_000, () => traffic.report().requests >= before + 50, 10);

    const report = await traffic.stop();

    expect(report.failures[0]).toMatch(
      /^20\S+Z (GET|PATCH) \/api\S+: https\S+: status 503.*; https\S+: status 503.*; https\S+: status 503.*, in \d+ ms$/,
    );
    expect(report.allDown).toEqual({ times: 0, totalMs: 0, longestMs: 0 });
    expect(report.silentSince).toEqual([]);
    expect(report.noneReady.times).toBe(1);
    expect(report.noneReady.longestMs).toBeGreaterThan(0);
    expect(report.noneReady.totalMs).toBe(report.noneReady.longestMs);
  });

  it('counts the time in which nothing answered, also while it lasts', async () => {
    const traffic = start();
    for (const { server } of servers) {
      server.closeAllConnections();
      server.close();
    }

    await waitFor('an outage', 60_000, () => traffic.report().allDown.longestMs > 500, 10);

    const { allDown, silentSince } = await traffic.stop();
    expect(allDown.times).toBe(1);
    expect(silentSince).toHaveLength(1);
  });

  it('finds a write that was acknowledged and then lost', async () => {
    const traffic = start();
    await waitFor('writes', 60_000, () => stored.size === 2, 10);
    for (const { behaviour } of servers) behaviour.forget = true;
    const before = traffic.report().requests;
    await waitFor('lost writes', 60_000, () => traffic.report().requests >= before + 100, 10);

    expect((await traffic.stop()).lostWrites).toBeGreaterThan(0);
  });

  it('asks with new credentials from the next connection on', async () => {
    const traffic = start();
    traffic.use({ ...credentials, ca: '' });
    await waitFor('refusals', 60_000, () => traffic.report().failed > 0, 10);
    traffic.use(credentials);
    const before = traffic.report().failed;
    await waitFor('requests', 60_000, () => traffic.report().requests > 100, 10);

    const report = await traffic.stop();

    expect(report.failed - before).toBeLessThanOrEqual(4);
    expect(report.examples[0]).toMatch(/self-signed|unable to verify/);
  });
});
