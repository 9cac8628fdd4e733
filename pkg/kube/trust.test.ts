import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { aCa } from '../../test/builders/certificates.ts';
import { startKubeServer } from '../../test/builders/kube-server.ts';
import { type CertificateAndKey, issueLeaf, keyObjectOf } from '../pki/index.ts';
import { signCertificate } from '../pki/sign.ts';
import { readX509 } from '../pki/x509-fields.ts';
import type { KubeError, KubeRequest } from './index.ts';

const now = Date.now();
const WRITE: KubeRequest = {
  method: 'POST',
  path: '/api/v1/nodes',
  body: {},
  contentType: 'application/json',
  doing: 'x',
};

async function aServerLeaf(ca: CertificateAndKey, ips: readonly string[] = ['127.0.0.1']): Promise<CertificateAndKey> {
  return await issueLeaf(ca, { subject: { cn: 'kube-apiserver' }, usages: ['server'], ips, now });
}

/** A leaf that names its issuer but not the issuer's key, as some imported PKIs make them. */
async function aLeafWithoutKeyId(ca: CertificateAndKey): Promise<CertificateAndKey> {
  const { key } = await aServerLeaf(ca);
  const certificate = await signCertificate(
    {
      subject: { cn: 'kube-apiserver' },
      issuer: readX509(ca.certificate.der).subject,
      serial: randomBytes(16),
      notBefore: now - 60_000,
      notAfter: now + 3_600_000,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: ['server'],
      isCa: false,
      ips: ['127.0.0.1'],
    },
    { subject: keyObjectOf(key), issuer: keyObjectOf(ca.key), digest: 'SHA-256' },
  );
  return { certificate, key };
}

async function failureOf(call: Promise<unknown>): Promise<KubeError> {
  return await call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error: KubeError) => error,
  );
}

describe('trust in two CAs of one subject', async () => {
  const old = await aCa('kubernetes', { now });
  const fresh = await aCa('kubernetes', { now });
  const olderFresh = await aCa('kubernetes', { now: now - 3_600_000 });

  it('the two CAs have the same subject', () => {
    expect(fresh.certificate.subject).toBe(old.certificate.subject);
  });

  it.each([
    ['the old CA, old first', old, [old, fresh], aServerLeaf],
    ['the old CA, new first', old, [fresh, old], aServerLeaf],
    ['the new CA, old first', fresh, [old, fresh], aServerLeaf],
    ['the new CA, new first', fresh, [fresh, old], aServerLeaf],
    ['the old CA, old first, without key identifier', old, [old, fresh], aLeafWithoutKeyId],
    ['the old CA, new first, without key identifier', old, [fresh, old], aLeafWithoutKeyId],
    ['the new CA, old first, without key identifier', fresh, [old, fresh], aLeafWithoutKeyId],
    ['the new CA, new first, without key identifier', fresh, [fresh, old], aLeafWithoutKeyId],
    ['a CA that ends earlier, without key identifier', olderFresh, [old, olderFresh], aLeafWithoutKeyId],
  ])('accepts a server of %s', async (_name, issuer, trust, make) => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }), certificate: await make(issuer) });

    await server.client({ trust: trust.map((ca) => ca.certificate) }).request(WRITE);

    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ['the old CA alone', fresh, [old], aServerLeaf],
    ['the new CA alone', old, [fresh], aServerLeaf],
    ['the old CA alone, and a leaf without key identifier', fresh, [old], aLeafWithoutKeyId],
    ['two others, and a leaf without key identifier', olderFresh, [old, fresh], aLeafWithoutKeyId],
  ])('refuses before it sends anything when it trusts %s', async (_name, issuer, trust, make) => {
    const certificate = await make(issuer);
    await using server = await startKubeServer({ answer: () => ({ json: {} }), certificate });

    const error = await failureOf(server.client({ trust: trust.map((ca) => ca.certificate) }).request(WRITE));

    expect(error).toMatchObject({
      kind: 'untrusted-server',
      outcome: 'not-done',
      transient: false,
      presented: certificate.certificate.fingerprint,
    });
    for (const ca of trust) expect(error.message).toContain(ca.certificate.fingerprint);
    expect(server.seen).toHaveLength(0);
  });
});

describe('trust in a server', () => {
  it('wants the certificate to be for the address that was asked', async () => {
    const ca = await aCa('kubernetes', { now });
    const certificate = await aServerLeaf(ca, ['10.5.0.2']);
    await using server = await startKubeServer({ answer: () => ({ json: {} }), ca, certificate });

    const error = await failureOf(server.client().request(WRITE));

    expect(error).toMatchObject({ kind: 'untrusted-server', outcome: 'not-done' });
    expect(error.found).toBe(
      `its certificate (SHA-256 ${certificate.certificate.fingerprint}) is not for 127.0.0.1; it is for IP Address:10.5.0.2`,
    );
  });

  it('takes the name that a kubeconfig gives for it instead', async () => {
    const ca = await aCa('kubernetes', { now });
    const certificate = await issueLeaf(ca, { subject: { cn: 'x' }, usages: ['server'], dns: ['api.example'], now });
    await using server = await startKubeServer({ answer: () => ({ json: {} }), ca, certificate });

    await server.client({ serverName: 'api.example' }).request(WRITE);
    const error = await failureOf(server.client({ serverName: 'other.example' }).request(WRITE));

    expect(error.found).toContain('is not for other.example');
  });

  it('ends with the certificate', async () => {
    const ca = await aCa('kubernetes', { now: now - 7_200_000 });
    const certificate = await issueLeaf(ca, {
      subject: { cn: 'kube-apiserver' },
      usages: ['server'],
      ips: ['127.0.0.1'],
      now: now - 3_600_000,
      validityMs: 60_000,
    });
    await using server = await startKubeServer({ answer: () => ({ json: {} }), ca, certificate });

    const error = await failureOf(server.client().request(WRITE));

    expect(error.kind).toBe('untrusted-server');
    expect(error.found).toContain('CERT_HAS_EXPIRED');
  });

  it('is proved anew by a fresh call, while a kept connection never notices that the server changed', async () => {
    const ca = await aCa('kubernetes', { now });
    await using server = await startKubeServer({ answer: () => ({ json: {} }), ca });
    const client = server.client();
    await client.request(WRITE);

    server.serve(await aServerLeaf(await aCa('kubernetes', { now })));
    await client.request(WRITE);
    const error = await failureOf(client.request({ ...WRITE, fresh: true }));

    expect(error.kind).toBe('untrusted-server');
    expect(server.seen.map((request) => request.connection)).toEqual([1, 1]);
  });

  it('is proved at every fresh call and never by a resumed session', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });
    const client = server.client();

    for (let call = 0; call < 3; call += 1) await client.request({ ...WRITE, fresh: true });

    expect(server.resumed()).toBe(0);
    expect(server.connections()).toBe(3);
  });
});
