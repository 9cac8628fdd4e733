import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type CertificateAndKey,
  createCa,
  etcdClientProfile,
  issueLeaf,
  talosAdminProfile,
} from '../../pkg/pki/index.ts';
import { probeTls, type TlsProbe } from '../../pkg/talos/index.ts';
import { createTlsListener, type TlsListener, type TlsMaterial } from './tls-listener.ts';

const DAY_MS = 86_400_000;

describe('a port over TLS', () => {
  let old: CertificateAndKey;
  let next: CertificateAndKey;
  const leafOf = (ca: CertificateAndKey) =>
    issueLeaf(ca, { subject: { cn: 'cp1' }, usages: ['server'], ips: ['127.0.0.1'], now: Date.now() });
  const admin = (ca: CertificateAndKey, now = Date.now()) => issueLeaf(ca, talosAdminProfile({ now }));

  beforeAll(async () => {
    [old, next] = (await Promise.all([1, 2].map(() => createCa('talos', { now: Date.now() - 1_000 * DAY_MS })))) as [
      CertificateAndKey,
      CertificateAndKey,
    ];
  });

  const opened: TlsListener[] = [];
  afterEach(async () => {
    for (const listener of opened.splice(0)) await listener.close();
  });

  async function listen(material: TlsMaterial, refusals: string[] = []): Promise<TlsListener> {
    const listener = createTlsListener({
      address: '127.0.0.1',
      port: 0,
      material,
      alpn: ['h2'],
      now: Date.now,
      onClient: ({ socket }) => socket.write('hello'),
      onRefusal: (detail) => refusals.push(detail),
    });
    opened.push(listener);
    await listener.ready;
    return listener;
  }

  function probe(
    listener: TlsListener,
    credentials: CertificateAndKey | undefined,
    timeoutMs = 5_000,
  ): Promise<TlsProbe> {
    return probeTls({
      host: '127.0.0.1',
      port: listener.port(),
      trust: [old.certificate, next.certificate],
      ...(credentials && { credentials }),
      timeoutMs,
    });
  }

  it('lets in a client of an accepted CA, whatever their order', async () => {
    const accepts = [next.certificate, old.certificate];
    const listener = await listen({ served: await leafOf(old), accepts });

    expect((await probe(listener, await admin(old))).verdict).toBe('accepted');
    expect((await probe(listener, await admin(next))).verdict).toBe('accepted');
  });

  it('tells a client of another CA of the same name by an alert, as Go does', async () => {
    const refusals: string[] = [];
    const listener = await listen({ served: await leafOf(old), accepts: [old.certificate] }, refusals);

    expect(await probe(listener, await admin(next))).toMatchObject({
      verdict: 'untrusted-client',
      reason: 'unknown-authority',
    });
    expect(refusals.join()).toContain('failed to verify certificate');
  });

  it('tells one without a certificate that one is required, and one out of its time that it is expired', async () => {
    const listener = await listen({ served: await leafOf(old), accepts: [old.certificate] });

    expect(await probe(listener, undefined)).toMatchObject({ verdict: 'untrusted-client', reason: 'no-certificate' });
    const expired = await admin(old, Date.now() - 500 * DAY_MS);
    expect(await probe(listener, expired)).toMatchObject({ verdict: 'untrusted-client', reason: 'expired' });
  });

  it('takes a server certificate for no client', async () => {
    const listener = await listen({ served: await leafOf(old), accepts: [old.certificate] });

    expect(await probe(listener, await leafOf(old))).toMatchObject({ verdict: 'untrusted-client' });
  });

  it('trusts nobody with an empty list', async () => {
    const listener = await listen({ served: await leafOf(old), accepts: [] });

    expect((await probe(listener, await issueLeaf(old, etcdClientProfile({ now: Date.now() })))).verdict).toBe(
      'untrusted-client',
    );
  });

  it('serves and accepts other material from the next handshake on', async () => {
    const listener = await listen({ served: await leafOf(old), accepts: [old.certificate] });
    const served = await leafOf(next);

    listener.use({ served, accepts: [next.certificate] });

    expect((await probe(listener, await admin(old))).verdict).toBe('untrusted-client');
    const found = await probe(listener, await admin(next));
    expect(found.verdict).toBe('accepted');
    expect(found.chain[0]?.fingerprint).toBe(served.certificate.fingerprint);
  });

  it('asks for no certificate where it accepts by other means', async () => {
    const listener = await listen({ served: await leafOf(old), accepts: undefined });

    expect((await probe(listener, undefined)).verdict).toBe('accepted');
  });

  it('answers nobody while it is cut off, and everybody after that', async () => {
    const listener = await listen({ served: await leafOf(old), accepts: undefined });

    listener.freeze();
    expect((await probe(listener, undefined, 300)).verdict).toBe('timeout');
    listener.thaw();

    expect((await probe(listener, undefined)).verdict).toBe('accepted');
  });

  it('refuses connections once it is closed', async () => {
    const listener = await listen({ served: await leafOf(old), accepts: undefined });

    await listener.close();

    expect((await probe(listener, undefined)).verdict).toBe('unreachable');
  });
});
