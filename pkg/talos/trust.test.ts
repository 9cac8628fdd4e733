import { createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { aClient, aServerLeaf, aTalosCa, aTalosServer } from '../../test/builders/talos-server.ts';
import { type CertificateAndKey, toPkcs8 } from '../pki/index.ts';
import { createTalosMachine, probeTls, proveRefused, TalosError, type TlsProbeOptions } from './index.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const opened: { close(): void }[] = [];
afterEach(() => {
  for (const item of opened.splice(0)) item.close();
});

type Trust = readonly CertificateAndKey[];

async function call(
  where: { readonly address: string; readonly port: number },
  who: { readonly trust: Trust; readonly credentials: CertificateAndKey },
): Promise<TalosError | string> {
  const machine = createTalosMachine({
    name: 'cp1',
    address: where.address,
    port: where.port,
    trust: who.trust.map((ca) => ca.certificate),
    credentials: who.credentials,
  });
  opened.push(machine);
  try {
    return (await machine.version({ deadlineMs: 3_000 })).tag;
  } catch (error) {
    if (error instanceof TalosError) return error;
    throw error;
  }
}

async function aMachine(options: Parameters<typeof aTalosServer>[0] = {}) {
  const server = await aTalosServer(options);
  opened.push(server);
  return server;
}

function listen(server: Server): Promise<number> {
  opened.push(server);
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

/** Everything that a probe needs but the port. */
async function aProbe(port: number, ca: CertificateAndKey, overrides: Partial<TlsProbeOptions> = {}) {
  return await probeTls({
    host: '127.0.0.1',
    port,
    trust: [ca.certificate],
    credentials: await aClient(ca),
    timeoutMs: 2_000,
    ...overrides,
  });
}

describe('trust during a rotation, where old and new CA share the subject', () => {
  it.each(['old first', 'new first'])('in old and new, %s, takes a leaf of either', async (order) => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const trust = order === 'old first' ? [old, incoming] : [incoming, old];
    const onOld = await aMachine({ cas: [old, incoming] });
    const onNew = await aMachine({ cas: [incoming, old] });
    const [asOld, asNew] = [await aClient(old), await aClient(incoming)];

    const seen = await Promise.all([
      call(onOld, { trust, credentials: asOld }),
      call(onOld, { trust, credentials: asNew }),
      call(onNew, { trust, credentials: asOld }),
      call(onNew, { trust, credentials: asNew }),
    ]);

    expect(seen).toEqual(['v1.14.1', 'v1.14.1', 'v1.14.1', 'v1.14.1']);
  });

  it('in one alone refuses a leaf of the other, and names what was served and what was trusted', async () => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const leaf = await aServerLeaf(incoming);
    const machine = await aMachine({ cas: [incoming, old], served: leaf });

    const error = await call(machine, { trust: [old], credentials: await aClient(old) });

    expect(error).toMatchObject({ kind: 'untrusted-server', outcome: 'not-done', machine: 'cp1', call: 'Version' });
    expect(String(error)).toContain(leaf.certificate.fingerprint);
    expect(String(error)).toContain(old.certificate.fingerprint);
    expect(machine.received).toEqual([]);
  });

  it('is the list that is given, whatever the same credentials were used with before', async () => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const machine = await aMachine({ cas: [incoming] });
    const credentials = await aClient(incoming);

    const seen = [];
    for (const trust of [[incoming], [old], [incoming, old], [old]])
      seen.push(await call(machine, { trust, credentials }));

    const refused = expect.objectContaining({ kind: 'untrusted-server' });
    expect(seen).toEqual(['v1.14.1', refused, 'v1.14.1', refused]);
  });

  it('is needed on both sides: a machine that does not take our certificate gets no request', async () => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const machine = await aMachine({ cas: [incoming] });

    const error = await call(machine, { trust: [incoming], credentials: await aClient(old) });

    // A server on Node hangs up without an alert; that Talos's alert becomes untrusted-client is for the real one to show.
    expect(error).toMatchObject({ kind: 'unreachable', outcome: 'not-done' });
    expect(String(error)).toContain('refuses our certificate without saying so');
    expect(machine.received).toEqual([]);
  });

  it('without any client certificate is told apart, by the alert of the machine', async () => {
    const ca = await aTalosCa();
    const machine = await aMachine({ cas: [ca] });

    const probe = await probeTls({ host: '127.0.0.1', port: machine.port, trust: [ca.certificate], timeoutMs: 2_000 });

    expect(probe).toMatchObject({ verdict: 'untrusted-client', reason: 'no-certificate' });
  });
});

describe('certificates out of their time', () => {
  it('of the machine are named as expired, with their dates', async () => {
    const ca = await aTalosCa(Date.now() - 3 * DAY_MS);
    const served = await aServerLeaf(ca, { now: Date.now() - 2 * DAY_MS, validityMs: DAY_MS });

    const error = await call(await aMachine({ cas: [ca], served }), { trust: [ca], credentials: await aClient(ca) });

    expect(error).toMatchObject({ kind: 'untrusted-server', outcome: 'not-done' });
    expect(String(error)).toContain('expired (CERT_HAS_EXPIRED)');
    expect(String(error)).toContain(new Date(served.certificate.notAfter).toISOString());
  });

  it('of the machine are named as not yet valid, which is clock trouble and no wrong CA', async () => {
    const ca = await aTalosCa();
    const served = await aServerLeaf(ca, { now: Date.now() + DAY_MS });

    const error = await call(await aMachine({ cas: [ca], served }), { trust: [ca], credentials: await aClient(ca) });

    expect(error).toMatchObject({ kind: 'untrusted-server' });
    expect(String(error)).toContain('not-yet-valid (CERT_NOT_YET_VALID)');
  });

  it('for another address are named as such', async () => {
    const ca = await aTalosCa();
    const served = await aServerLeaf(ca, { ips: ['10.9.9.9'] });

    const error = await call(await aMachine({ cas: [ca], served }), { trust: [ca], credentials: await aClient(ca) });

    expect(error).toMatchObject({ kind: 'untrusted-server' });
    expect(String(error)).toContain('wrong-name');
  });
});

describe('what is no matter of trust', () => {
  it('a machine in maintenance mode is recognised, and nothing is sent to it', async () => {
    const ca = await aTalosCa();
    const machine = await aMachine({ demandsClientCertificate: false });

    const error = await call(machine, { trust: [ca], credentials: await aClient(ca) });

    expect(error).toMatchObject({ kind: 'maintenance', outcome: 'not-done' });
    expect(machine.received).toEqual([]);
  });

  it('a closed port is unreachable, at once', async () => {
    const ca = await aTalosCa();
    const machine = await aMachine();
    machine.close();
    const started = performance.now();

    const error = await call(machine, { trust: [ca], credentials: await aClient(ca) });

    expect(error).toMatchObject({ kind: 'unreachable', outcome: 'not-done' });
    expect(String(error)).toContain('connection refused; nothing listens there (127.0.0.1:');
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it('what does not speak TLS is said to be that', async () => {
    const ca = await aTalosCa();
    const port = await listen(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));

    const error = await call({ address: '127.0.0.1', port }, { trust: [ca], credentials: await aClient(ca) });

    expect(error).toMatchObject({ kind: 'unreachable', outcome: 'not-done' });
    expect(String(error)).toContain('does not speak TLS');
  });

  it('what accepts connections and says nothing is unreachable when the deadline passes', async () => {
    const ca = await aTalosCa();
    const port = await listen(createServer(() => {}));

    const error = await call({ address: '127.0.0.1', port }, { trust: [ca], credentials: await aClient(ca) });

    expect(error).toMatchObject({ kind: 'unreachable', outcome: 'not-done' });
  });

  it('a key that does not belong to its certificate is our fault and named so', async () => {
    const ca = await aTalosCa();
    const [one, other] = [await aClient(ca), await aClient(ca)];

    const error = await call(await aMachine({ cas: [ca] }), {
      trust: [ca],
      credentials: { certificate: one.certificate, key: other.key },
    });

    expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  });
});

describe('a probe', () => {
  it('accepts and shows the served chain', async () => {
    const ca = await aTalosCa();
    const served = await aServerLeaf(ca);
    const machine = await aMachine({ cas: [ca], served });

    const probe = await aProbe(machine.port, ca);

    expect(probe).toMatchObject({ verdict: 'accepted', detail: 'TLSv1.3 h2' });
    expect(probe.chain[0]?.fingerprint).toBe(served.certificate.fingerprint);
  });

  it('shows the chain as it was served, without what the trust list would complete', async () => {
    const ca = await aTalosCa();
    const served = await aServerLeaf(ca);
    const port = await listen(createTlsServer({ cert: served.certificate.pem, key: toPkcs8(served.key).expose() }));

    const trusting = await aProbe(port, ca, { alpn: [], timeoutMs: 300 });
    const blind = await aProbe(port, ca, { trust: [] });

    expect(trusting.chain.map((certificate) => certificate.fingerprint)).toEqual([served.certificate.fingerprint]);
    expect(blind).toMatchObject({ verdict: 'untrusted-server', reason: 'unknown-authority' });
    expect(blind.chain.map((certificate) => certificate.fingerprint)).toEqual([served.certificate.fingerprint]);
  });

  it('reads, and so sees a refused client certificate that the handshake does not show', async () => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const machine = await aMachine({ cas: [incoming] });

    const probe = await aProbe(machine.port, incoming, { credentials: await aClient(old) });

    expect(probe.verdict).toBe('closed');
    expect(probe.chain).not.toEqual([]);
  });

  it('tells a silent port from a closed one', async () => {
    const ca = await aTalosCa();
    const silent = await listen(createServer(() => {}));
    const closing = await listen(createServer((socket) => socket.destroy()));

    expect(await aProbe(silent, ca, { timeoutMs: 200 })).toMatchObject({ verdict: 'timeout', chain: [] });
    expect(await aProbe(closing, ca)).toMatchObject({ verdict: 'unreachable', chain: [] });
  });
});

describe('proof that a credential is refused', () => {
  it('holds when the control is accepted before and after', async () => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const machine = await aMachine({ cas: [incoming] });

    const proof = await proveRefused({
      host: '127.0.0.1',
      port: machine.port,
      trust: [incoming.certificate],
      credentials: await aClient(old),
      control: await aClient(incoming),
    });

    expect(proof.refused).toBe(true);
    expect(proof.control.map((probe) => probe.verdict)).toEqual(['accepted', 'accepted']);
  });

  it('does not hold while the credential is still accepted', async () => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const machine = await aMachine({ cas: [incoming, old] });

    const proof = await proveRefused({
      host: '127.0.0.1',
      port: machine.port,
      trust: [incoming.certificate],
      credentials: await aClient(old),
      control: await aClient(incoming),
    });

    expect(proof).toMatchObject({ refused: false, probe: { verdict: 'accepted' } });
  });

  it('does not hold against a server that refuses everybody', async () => {
    const ca = await aTalosCa();
    const port = await listen(createServer((socket) => socket.destroy()));

    const proof = await proveRefused({
      host: '127.0.0.1',
      port,
      trust: [ca.certificate],
      credentials: await aClient(ca),
      control: await aClient(ca),
    });

    expect(proof.refused).toBe(false);
  });
});
