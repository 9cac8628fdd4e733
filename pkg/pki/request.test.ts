import { webcrypto, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { aKeyPair, aSigningRequest } from '../../test/builders/signing-request.ts';
import { type CertificateAndKey, createCa, PkiError, signRequest, verifyChain } from './index.ts';
import { readRequest } from './request.ts';

const NOW = Date.UTC(2026, 10, 29);

describe('signing a request', () => {
  let ca: CertificateAndKey;
  beforeAll(async () => {
    ca = await createCa('talos', { now: NOW });
  });

  const refusal = (request: string) =>
    signRequest(ca, request, { now: NOW }).then(
      () => 'signed',
      (error: unknown) => (error instanceof PkiError ? error.kind : error),
    );

  it('gives a server certificate to its key and names, without the organization that it asks for', async () => {
    const keys = await aKeyPair();

    const leaf = await signRequest(ca, await aSigningRequest(keys), { now: NOW });

    expect(leaf.subject).toBe('CN=worker-1');
    expect(verifyChain(leaf, [ca.certificate], { now: NOW, usage: 'server' })).toMatchObject({ ok: true });
    expect(verifyChain(leaf, [ca.certificate], { now: NOW, usage: 'client' })).toMatchObject({ reason: 'wrong-usage' });
    const read = new X509Certificate(leaf.pem);
    expect(read.subjectAltName).toBe('DNS:worker-1, IP Address:10.0.0.7');
    const spki = Buffer.from(await webcrypto.subtle.exportKey('spki', keys.publicKey));
    expect(read.publicKey.export({ type: 'spki', format: 'der' })).toEqual(spki);
  });

  it('takes one without any name', async () => {
    const { Pkcs10CertificateRequestGenerator } = await import('@peculiar/x509');
    const request = await Pkcs10CertificateRequestGenerator.create({
      keys: await aKeyPair(),
      signingAlgorithm: { name: 'Ed25519' },
    });

    expect(await readRequest(request.toString('pem'))).toMatchObject({ commonName: '', dns: [], ips: [] });
  });

  it('refuses one that is signed by another key than the one in it', async () => {
    const [one, other] = [await aKeyPair(), await aKeyPair()];

    expect(await refusal(await aSigningRequest({ privateKey: one.privateKey, publicKey: other.publicKey }))).toBe(
      'refused',
    );
  });

  it('refuses what is no request', async () => {
    expect(await refusal(ca.certificate.pem)).toBe('invalid-certificate');
    expect(await refusal('hello')).toBe('invalid-certificate');
  });

  it('signs nothing with a CA that is over', async () => {
    const over = await createCa('talos', { now: NOW - 86_400_000, validityMs: 1_000 });

    await expect(signRequest(over, await aSigningRequest(await aKeyPair()), { now: NOW })).rejects.toMatchObject({
      kind: 'refused',
    });
  });
});
