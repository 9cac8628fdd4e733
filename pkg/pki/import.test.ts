import forge from 'node-forge';
import { describe, expect, it } from 'vitest';
import { aCa, aLeaf, anOddCertificate, MADE_AT, oddKeys } from '../../test/builders/certificates.ts';
import type { CertificateAndKey } from './certificate.ts';
import { importCa } from './import.ts';
import { parsePem } from './pem.ts';
import { keyObjectOf } from './private-key.ts';
import { Secret } from './secret.ts';

const OPTIONS = { now: MADE_AT, where: 'own-ca' };
const passphrase = Secret.of('passphrase', 'open sesame');

/** A PKCS#12 file of RSA material, written by node-forge; with the key several times it has no checksum. */
function pkcs12(ca: CertificateAndKey, others: readonly CertificateAndKey[] = [], keys = 1): Uint8Array {
  const pkcs1 = keyObjectOf(ca.key).export({ type: 'pkcs1', format: 'pem' }).toString();
  const certificates = [...others, ca].map(({ certificate }) => forge.pki.certificateFromPem(certificate.pem));
  const store = forge.pkcs12.toPkcs12Asn1(forge.pki.privateKeyFromPem(pkcs1), certificates, passphrase.expose(), {
    useMac: keys === 1,
    // These protect nobody.
    count: 1,
  });
  // PFX { version, authSafe { data, [0] { octets } } }; the octets are the parts, the last of which holds the key (RFC 7292, 4).
  const octets = inside(inside(inside(store)[1])[1])[0] as forge.asn1.Asn1;
  const parts = forge.asn1.fromDer(octets.value as string);
  for (let more = 1; more < keys; more += 1) inside(parts).push(inside(parts).at(-1) as forge.asn1.Asn1);
  octets.value = forge.asn1.toDer(parts).getBytes();
  return Buffer.from(forge.asn1.toDer(store).getBytes(), 'binary');
}

function inside(value: forge.asn1.Asn1 | undefined): forge.asn1.Asn1[] {
  return value?.value as forge.asn1.Asn1[];
}

describe('importing a CA as PEM', () => {
  it('gives it as it was written', async () => {
    const ca = await aCa('etcd');
    const source = { kind: 'pem', certificate: ca.certificate.pem, key: ca.key } as const;

    expect(await importCa(source, OPTIONS)).toEqual(ca);
  });

  it('takes the key under a general label, too', async () => {
    const ca = await anOddCertificate();
    const source = { kind: 'pem', certificate: ca.certificate.pem, key: ca.key.expose() } as const;

    const imported = await importCa(source, OPTIONS);

    expect(imported.key.expose()).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  });

  it('holds it to the rules of the lint and reports all that is wrong', async () => {
    const { certificate } = await anOddCertificate({ notAfter: MADE_AT, keyUsages: 1 });
    const { key } = await anOddCertificate();
    const title = `the imported CA (${certificate.fingerprint})`;

    await expect(importCa({ kind: 'pem', certificate: certificate.pem, key }, OPTIONS)).rejects.toMatchObject({
      kind: 'refused',
      message: `own-ca: ${title} does not belong to the private key beside it; ${title} expired at 2026-11-30T00:53:20.000Z; it is 2026-11-30T00:53:20.000Z; ${title} may not sign certificates: its key usages are digitalSignature, keyCertSign is missing`,
    });
  });

  it('refuses a leaf, two certificates and a missing key by name', async () => {
    const ca = await aCa('etcd');
    const leaf = await aLeaf(ca);
    const { pem } = ca.certificate;

    await expect(importCa({ kind: 'pem', certificate: leaf.certificate.pem, key: leaf.key }, OPTIONS)).rejects.toThrow(
      'is not a CA: its basic constraints do not say so',
    );
    await expect(
      importCa({ kind: 'pem', certificate: pem + leaf.certificate.pem, key: ca.key }, OPTIONS),
    ).rejects.toThrow('own-ca (certificate): expected exactly one certificate, found 2');
    await expect(importCa({ kind: 'pem', certificate: pem, key: '' }, OPTIONS)).rejects.toThrow(
      'own-ca (key): expected exactly one private key, found no PEM block',
    );
  });
});

describe('importing a CA as PKCS#12', () => {
  it('gives the same certificate and key, the key under the label of Talos', async () => {
    const ca = await aCa('kubernetes', { algorithm: 'rsa-2048' });

    const imported = await importCa({ kind: 'pkcs12', bytes: pkcs12(ca), passphrase }, OPTIONS);

    expect(imported.certificate).toEqual(ca.certificate);
    expect(imported.key.equals(ca.key)).toBe(true);
    expect(parsePem(imported.key.expose()).map((block) => block.label)).toEqual(['RSA PRIVATE KEY']);
  });

  it('finds the certificate of the key among others', async () => {
    const ca = await aCa('kubernetes', { algorithm: 'rsa-2048' });
    const other = await aCa('etcd', { algorithm: 'rsa-2048' });

    const imported = await importCa({ kind: 'pkcs12', bytes: pkcs12(ca, [other]), passphrase }, OPTIONS);

    expect(imported.certificate).toEqual(ca.certificate);
  });

  it('refuses a wrong passphrase, damage and another kind of file', async () => {
    const ca = await aCa('kubernetes', { algorithm: 'rsa-2048' });
    const bytes = pkcs12(ca);
    const wrong = Secret.of('passphrase', 'open barley');
    const damaged = bytes.map((octet, index) => (index === bytes.length - 10 ? octet ^ 1 : octet));

    for (const source of [
      { bytes, passphrase: wrong },
      { bytes: damaged, passphrase },
      { bytes: bytes.subarray(0, 500), passphrase },
      { bytes: Buffer.from('hello'), passphrase },
      { bytes: new Uint8Array(), passphrase },
    ]) {
      await expect(importCa({ kind: 'pkcs12', ...source }, OPTIONS)).rejects.toMatchObject({
        kind: 'invalid-pkcs12',
        message: expect.stringMatching(/^own-ca: cannot be opened as PKCS#12 with this passphrase: /),
      });
    }
  });

  it('never shows the passphrase or the key in an error', async () => {
    const ca = await aCa('kubernetes', { algorithm: 'rsa-2048' });
    const { inspect } = await import('node:util');

    const error: unknown = await importCa(
      { kind: 'pkcs12', bytes: pkcs12(ca).subarray(0, 900), passphrase },
      OPTIONS,
    ).catch((cause: unknown) => cause);

    const text = inspect(error, { showHidden: true, depth: Number.POSITIVE_INFINITY });
    expect(text).toContain('invalid-pkcs12');
    expect(text).not.toContain('sesame');
  });

  it('refuses a file without a key', async () => {
    const { certificate } = await aCa('kubernetes', { algorithm: 'rsa-2048' });
    // node-forge writes a file of certificates alone when it is given no key; its types do not say so.
    const noKey = null as unknown as forge.pki.rsa.PrivateKey;
    const store = forge.pkcs12.toPkcs12Asn1(
      noKey,
      [forge.pki.certificateFromPem(certificate.pem)],
      passphrase.expose(),
    );
    const bytes = Buffer.from(forge.asn1.toDer(store).getBytes(), 'binary');

    await expect(importCa({ kind: 'pkcs12', bytes, passphrase }, OPTIONS)).rejects.toMatchObject({
      kind: 'invalid-pkcs12',
      message: 'own-ca: expected exactly one private key, found 0',
    });
  });

  it('refuses a key without its certificate', async () => {
    const [ca, other] = [await aCa('etcd', { algorithm: 'rsa-2048' }), await aCa('etcd', { algorithm: 'rsa-2048' })];
    const bytes = pkcs12({ certificate: other.certificate, key: ca.key });

    await expect(importCa({ kind: 'pkcs12', bytes, passphrase }, OPTIONS)).rejects.toMatchObject({
      kind: 'invalid-pkcs12',
      message: 'own-ca: none of the 1 certificates belongs to the private key',
    });
  });

  it('refuses a file with two keys: nobody knows which is meant', async () => {
    const keys = await oddKeys({
      name: 'RSASSA-PKCS1-v1_5',
      modulusLength: 1024,
      hash: 'SHA-256',
      publicExponent: new Uint8Array([1, 0, 1]),
    });
    const bytes = pkcs12(await anOddCertificate({ keys, signingAlgorithm: { name: 'RSASSA-PKCS1-v1_5' } }), [], 2);

    await expect(importCa({ kind: 'pkcs12', bytes, passphrase }, OPTIONS)).rejects.toMatchObject({
      kind: 'invalid-pkcs12',
      message: 'own-ca: expected exactly one private key, found 2',
    });
  });

  it('holds it to the rules of the lint', async () => {
    const keys = await oddKeys({
      name: 'RSASSA-PKCS1-v1_5',
      modulusLength: 2048,
      hash: 'SHA-256',
      publicExponent: new Uint8Array([1, 0, 1]),
    });
    const ca = await anOddCertificate({ keys, signingAlgorithm: { name: 'RSASSA-PKCS1-v1_5' }, isCa: false });

    await expect(importCa({ kind: 'pkcs12', bytes: pkcs12(ca), passphrase }, OPTIONS)).rejects.toMatchObject({
      kind: 'refused',
    });
  });
});
