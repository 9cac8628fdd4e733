import { describe, expect, it } from 'vitest';
import { aCa, aLeaf, anOddCertificate, MADE_AT, oddKeys } from '../../test/builders/certificates.ts';
import type { Certificate } from './certificate.ts';
import { verifyChain } from './verify.ts';

const HOUR = 3_600_000;
const AT = { now: MADE_AT + HOUR, usage: 'client' } as const;

describe('verifying a leaf', () => {
  for (const target of ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const) {
    it(`finds the right one of two ${target} CAs of the same name, in both orders`, async () => {
      const [old, fresh] = [await aCa(target), await aCa(target)];
      const [oldLeaf, freshLeaf] = [(await aLeaf(old)).certificate, (await aLeaf(fresh)).certificate];

      for (const roots of bothOrders(old.certificate, fresh.certificate)) {
        expect(verifyChain(oldLeaf, roots, AT)).toEqual({ ok: true, root: old.certificate });
        expect(verifyChain(freshLeaf, roots, AT)).toEqual({ ok: true, root: fresh.certificate });
      }
    });

    it(`refuses a leaf of the new ${target} CA where only the old one is trusted, and the other way round`, async () => {
      const [old, fresh] = [await aCa(target), await aCa(target)];

      expect(verifyChain((await aLeaf(fresh)).certificate, [old.certificate], AT)).toMatchObject({
        ok: false,
        reason: 'bad-signature',
      });
      expect(verifyChain((await aLeaf(old)).certificate, [fresh.certificate], AT)).toMatchObject({
        ok: false,
        reason: 'bad-signature',
      });
    });
  }

  const identifiers = [
    ['no identifier in the CAs and leaves', false, false, undefined],
    ['identifiers in the CAs only', '11'.repeat(20), '22'.repeat(20), undefined],
    ['an identifier in the leaf only', false, false, '22'.repeat(20)],
    ['the right identifier in the leaf', '11'.repeat(20), '22'.repeat(20), '22'.repeat(20)],
  ] as const;
  for (const [what, oldId, freshId, authorityKeyId] of identifiers) {
    it(`works with ${what}, in both orders`, async () => {
      const { old, fresh, leaf } = await oddPair(oldId, freshId, authorityKeyId);

      for (const roots of bothOrders(old, fresh)) {
        expect(verifyChain(leaf, roots, AT)).toEqual({ ok: true, root: fresh });
      }
    });
  }

  for (const [what, authorityKeyId] of [
    ['is that of the other CA', '11'.repeat(20)],
    ['was computed from the key', '33'.repeat(20)],
  ] as const) {
    it(`trusts a leaf whose authority key identifier ${what}, with a caution, in both orders`, async () => {
      const { old, fresh, leaf } = await oddPair('11'.repeat(20), '22'.repeat(20), authorityKeyId);

      for (const roots of bothOrders(old, fresh)) {
        expect(verifyChain(leaf, roots, AT)).toEqual({
          ok: true,
          root: fresh,
          caution: `certificate ${leaf.fingerprint} (CN=leaf): its authority key identifier is not that of its CA ${fresh.fingerprint}: Go accepts it, OpenSSL and Node refuse it`,
        });
      }
    });
  }

  it('says what is trusted instead when the name is unknown', async () => {
    const leaf = (await aLeaf(await aCa('etcd'))).certificate;
    const roots = [await aCa('kubernetes-aggregator'), await aCa('talos'), await aCa('talos')].map(
      (ca) => ca.certificate,
    );

    expect(verifyChain(leaf, roots, AT)).toEqual({
      ok: false,
      reason: 'unknown-issuer',
      message: `certificate ${leaf.fingerprint} (CN=somebody) is not trusted: its issuer is O=etcd; trusted are O=talos, an empty name`,
    });
  });

  it('trusts nothing without a CA', async () => {
    const leaf = (await aLeaf(await aCa('etcd'))).certificate;

    expect(verifyChain(leaf, [], AT)).toEqual({
      ok: false,
      reason: 'no-roots',
      message: `certificate ${leaf.fingerprint} (CN=somebody) is not trusted: there is no CA to trust`,
    });
  });

  it('names every CA of the right name that did not sign', async () => {
    const leaf = (await aLeaf(await aCa('etcd'))).certificate;
    const [one, two] = [(await aCa('etcd')).certificate, (await aCa('etcd')).certificate];

    expect(verifyChain(leaf, [one, two, (await aCa('talos')).certificate], AT)).toEqual({
      ok: false,
      reason: 'bad-signature',
      message: `certificate ${leaf.fingerprint} (CN=somebody) is not trusted: no trusted CA named O=etcd signed it (tried ${one.fingerprint}, ${two.fingerprint})`,
    });
  });

  it('takes names as equal only when their bytes are, as Go does', async () => {
    const printable = await anOddCertificate({ subject: 'O=etcd' });
    const { Name } = await import('@peculiar/x509');
    const utf8 = new Name([{ O: [{ utf8String: 'etcd' }] }]) as unknown as string;
    const leaf = await anOddCertificate({ subject: 'CN=leaf', issuer: utf8, isCa: false });

    expect(leaf.certificate.issuer).toBe('O=etcd');
    expect(verifyChain(leaf.certificate, [printable.certificate], AT)).toMatchObject({ reason: 'unknown-issuer' });
  });

  it('refuses a leaf before and behind its validity, with the times', async () => {
    const ca = await aCa('talos', { now: MADE_AT - 48 * HOUR });
    const leaf = (await aLeaf(ca)).certificate;
    const at = (now: number, clockSkewMs = 0) =>
      verifyChain(leaf, [ca.certificate], { now, usage: 'client', clockSkewMs });

    expect(at(MADE_AT - 300_000).ok).toBe(true);
    expect(at(MADE_AT - 301_000)).toEqual({
      ok: false,
      reason: 'not-yet-valid',
      message: `certificate ${leaf.fingerprint} (CN=somebody) is not trusted: it is valid from 2026-11-30T00:48:20.000Z only; it is 2026-11-30T00:48:19.000Z`,
    });
    expect(at(MADE_AT - 301_000, 2_000).ok).toBe(true);
    expect(at(MADE_AT + 24 * HOUR).ok).toBe(true);
    expect(at(MADE_AT + 24 * HOUR + 1)).toMatchObject({ reason: 'expired' });
    expect(at(MADE_AT + 24 * HOUR + 1, 1_000).ok).toBe(true);
  });

  it('refuses a leaf whose CA has expired', async () => {
    const ca = await anOddCertificate({ notAfter: MADE_AT });
    const leaf = await anOddCertificate({ subject: 'CN=leaf', issuer: 'O=etcd', isCa: false, ...(await signedBy(ca)) });

    expect(verifyChain(leaf.certificate, [ca.certificate], AT)).toMatchObject({
      ok: false,
      reason: 'expired',
      message: expect.stringContaining(`its CA ${ca.certificate.fingerprint} expired at 2026-11-30T00:53:20.000Z`),
    });
  });

  it('refuses another use than the leaf or its CA allows', async () => {
    const ca = await aCa('talos');
    const client = (await aLeaf(ca)).certificate;
    const server = (await aLeaf(ca, { usages: ['server'] })).certificate;
    const clientsOnly = await anOddCertificate({ extendedKeyUsages: ['1.3.6.1.5.5.7.3.2'] });
    const leaf = await anOddCertificate({
      subject: 'CN=leaf',
      issuer: 'O=etcd',
      isCa: false,
      ...(await signedBy(clientsOnly)),
    });

    expect(verifyChain(client, [ca.certificate], { ...AT, usage: 'server' })).toEqual({
      ok: false,
      reason: 'wrong-usage',
      message: `certificate ${client.fingerprint} (CN=somebody) is not trusted: it is not for server authentication`,
    });
    expect(verifyChain(server, [ca.certificate], AT)).toMatchObject({ reason: 'wrong-usage' });
    expect(verifyChain(leaf.certificate, [clientsOnly.certificate], AT).ok).toBe(true);
    expect(verifyChain(leaf.certificate, [clientsOnly.certificate], { ...AT, usage: 'server' })).toMatchObject({
      reason: 'wrong-usage',
      message: expect.stringContaining(
        `: its CA ${clientsOnly.certificate.fingerprint} is not for server authentication`,
      ),
    });
  });

  it('takes a missing list of uses, and "any", for all of them', async () => {
    for (const extendedKeyUsages of [false, ['2.5.29.37.0']] as const) {
      const ca = await anOddCertificate({ extendedKeyUsages });
      const options = { subject: 'CN=leaf', issuer: 'O=etcd', isCa: false, extendedKeyUsages, ...(await signedBy(ca)) };
      const leaf = await anOddCertificate(options);

      expect(verifyChain(leaf.certificate, [ca.certificate], AT).ok).toBe(true);
      expect(verifyChain(leaf.certificate, [ca.certificate], { ...AT, usage: 'server' }).ok).toBe(true);
    }
  });

  it('takes what a CA signed that lists no key usages, as Go does', async () => {
    const ca = await anOddCertificate({ keyUsages: false });
    const options = { subject: 'CN=leaf', issuer: 'O=etcd', isCa: false, ...(await signedBy(ca)) };
    const leaf = await anOddCertificate(options);

    expect(verifyChain(leaf.certificate, [ca.certificate], AT).ok).toBe(true);
  });

  it('refuses what a certificate signed that is no CA or may not sign', async () => {
    for (const options of [{ isCa: false }, { keyUsages: 1 }] as const) {
      const ca = await anOddCertificate(options);
      const leaf = await anOddCertificate({
        subject: 'CN=leaf',
        issuer: 'O=etcd',
        isCa: false,
        ...(await signedBy(ca)),
      });

      expect(verifyChain(leaf.certificate, [ca.certificate], AT)).toMatchObject({
        reason: 'issuer-not-a-ca',
        message: expect.stringContaining(
          `: ${ca.certificate.fingerprint} signed it but is not allowed to sign certificates`,
        ),
      });
    }
  });

  it('refuses a leaf that was changed after it was signed', async () => {
    const ca = await aCa('etcd');
    const { certificateFromDer } = await import('./certificate.ts');
    const { certificate } = await aLeaf(ca, { subject: { cn: 'somebody' } });
    const at = Buffer.from(certificate.der).indexOf('somebody');
    const changed = certificateFromDer(certificate.der.map((octet, index) => (index === at ? octet ^ 1 : octet)));

    expect(changed.subject).toBe('CN=romebody');
    expect(verifyChain(changed, [ca.certificate], AT)).toMatchObject({ ok: false, reason: 'bad-signature' });
  });

  it('uses the certificate of a renewed CA that may still be used, in both orders', async () => {
    const keys = await oddKeys();
    const lapsed = (await anOddCertificate({ keys, notAfter: MADE_AT })).certificate;
    const renewed = (await anOddCertificate({ keys, subjectKeyId: '22'.repeat(20) })).certificate;
    const { certificate: leaf } = await anOddCertificate({
      subject: 'CN=leaf',
      issuer: 'O=etcd',
      isCa: false,
      subjectKeyId: false,
      signer: keys,
    });

    for (const roots of bothOrders(lapsed, renewed)) {
      expect(verifyChain(leaf, roots, AT)).toEqual({ ok: true, root: renewed });
    }
    expect(verifyChain(leaf, [lapsed], AT)).toMatchObject({ reason: 'expired' });
  });

  it('prefers the certificate of a renewed CA that every verifier accepts, in both orders', async () => {
    const keys = await oddKeys();
    const one = (await anOddCertificate({ keys, subjectKeyId: '11'.repeat(20) })).certificate;
    const two = (await anOddCertificate({ keys, subjectKeyId: '22'.repeat(20) })).certificate;
    const leaf = await leafNaming('22'.repeat(20), keys);

    for (const roots of bothOrders(one, two)) {
      expect(verifyChain(leaf, roots, AT)).toEqual({ ok: true, root: two });
    }
  });

  it('uses one that not every verifier accepts before one that nobody does, in both orders', async () => {
    const keys = await oddKeys();
    const lapsed = (await anOddCertificate({ keys, subjectKeyId: '22'.repeat(20), notAfter: MADE_AT })).certificate;
    const other = (await anOddCertificate({ keys, subjectKeyId: '11'.repeat(20) })).certificate;
    const leaf = await leafNaming('22'.repeat(20), keys);

    for (const roots of bothOrders(lapsed, other)) {
      expect(verifyChain(leaf, roots, AT)).toMatchObject({ ok: true, root: other, caution: expect.any(String) });
    }
  });

  it('does not stumble over a CA of the same name with a key of another algorithm', async () => {
    const [old, fresh] = [await aCa('talos', { algorithm: 'rsa-2048' }), await aCa('talos')];
    const leaf = (await aLeaf(fresh)).certificate;

    for (const roots of bothOrders(old.certificate, fresh.certificate)) {
      expect(verifyChain(leaf, roots, AT)).toEqual({ ok: true, root: fresh.certificate });
    }
    expect(verifyChain(leaf, [old.certificate], AT)).toMatchObject({ reason: 'bad-signature' });
  });
});

function bothOrders(a: Certificate, b: Certificate): Certificate[][] {
  return [
    [a, b],
    [b, a],
  ];
}

async function oddPair(oldId: string | false, freshId: string | false, authorityKeyId: string | undefined) {
  const keys = await oddKeys();
  const old = (await anOddCertificate({ subjectKeyId: oldId })).certificate;
  const fresh = (await anOddCertificate({ subjectKeyId: freshId, keys })).certificate;
  const { certificate: leaf } = await anOddCertificate({
    subject: 'CN=leaf',
    issuer: 'O=etcd',
    isCa: false,
    subjectKeyId: false,
    signer: keys,
    ...(authorityKeyId === undefined ? {} : { authorityKeyId }),
  });
  return { old, fresh, leaf };
}

/** Lets an odd certificate be signed by the key of another one. */
async function signedBy(ca: { readonly key: import('./secret.ts').PrivateKeyPem }) {
  const { keyObjectOf } = await import('./private-key.ts');
  const pkcs8 = keyObjectOf(ca.key).export({ type: 'pkcs8', format: 'der' });
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']);
  return { signer: { privateKey, publicKey: privateKey } };
}

/** A leaf by the CA of these keys that names the one with this key identifier, of several that have them. */
async function leafNaming(authorityKeyId: string, signer: Awaited<ReturnType<typeof oddKeys>>): Promise<Certificate> {
  const options = { subject: 'CN=leaf', issuer: 'O=etcd', isCa: false, signer, authorityKeyId };
  return (await anOddCertificate(options)).certificate;
}
