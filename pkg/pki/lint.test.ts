import { Extension } from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { aCa, aLeaf, anOddCertificate, MADE_AT, type OddOptions, oddKeys } from '../../test/builders/certificates.ts';
import { type Certificate, certificateFromDer } from './certificate.ts';
import { type LintCaOptions, lintCa } from './lint.ts';
import { readX509 } from './x509-fields.ts';

const HOUR = 3_600_000;
const options = (overrides: Partial<LintCaOptions> = {}): LintCaOptions => ({
  now: MADE_AT,
  name: 'the new etcd CA',
  ...overrides,
});

/** The problems of an odd CA as `rule: message without the fingerprint`. */
async function problemsOf(odd: OddOptions, overrides: Partial<LintCaOptions> = {}): Promise<string[]> {
  const ca = await anOddCertificate(odd);
  return lintCa(ca, options(overrides)).map(({ rule, certificate, message }) => {
    expect(certificate).toBe(`the new etcd CA (${ca.certificate.fingerprint})`);
    return `${rule}: ${message.replace(` (${ca.certificate.fingerprint})`, '')}`;
  });
}

describe('the lint of a CA', () => {
  it('has nothing against a CA as Talos makes it', async () => {
    for (const target of ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const) {
      expect(lintCa(await aCa(target), options())).toEqual([]);
    }
  });

  it('has nothing against a sound CA of another make', async () => {
    expect(await problemsOf({})).toEqual([]);
    expect(await problemsOf({ pathLength: 0 })).toEqual([]);
    expect(await problemsOf({ pathLength: 3 })).toEqual([]);
    expect(await problemsOf({ keyUsages: false, extendedKeyUsages: false, subjectKeyId: false })).toEqual([]);
    expect(await problemsOf({ extendedKeyUsages: ['2.5.29.37.0'] })).toEqual([]);
    expect(await problemsOf({ keyUsages: 32 | 64 })).toEqual([]);
    expect(await problemsOf({ authorityKeyId: '11'.repeat(20) })).toEqual([]);
    expect(await problemsOf({ extra: [new Extension('1.2.3.4', false, new Uint8Array([5, 0]))] })).toEqual([]);
  });

  it('looks at a certificate alone, too', async () => {
    const { certificate } = await aCa('etcd');

    expect(lintCa({ certificate }, options())).toEqual([]);
  });

  it('refuses a key that is not the certificate’s', async () => {
    const [one, two] = [await aCa('etcd'), await aCa('etcd')];

    expect(lintCa({ certificate: one.certificate, key: two.key }, options())).toEqual([
      {
        certificate: `the new etcd CA (${one.certificate.fingerprint})`,
        rule: 'key-mismatch',
        message: `the new etcd CA (${one.certificate.fingerprint}) does not belong to the private key beside it`,
      },
    ]);
  });

  it('refuses a leaf: no CA, no right to sign, no root', async () => {
    const leaf = await aLeaf(await aCa('etcd'));

    expect(lintCa(leaf, options()).map(({ rule }) => rule)).toEqual([
      'not-a-ca',
      'key-usage',
      'extended-key-usage',
      'self-signed',
    ]);
  });

  const refused: readonly (readonly [string, OddOptions, string])[] = [
    [
      'no basic constraints',
      { isCa: false },
      'not-a-ca: the new etcd CA is not a CA: its basic constraints do not say so',
    ],
    [
      'an end in the past',
      { notAfter: MADE_AT },
      'expired: the new etcd CA expired at 2026-11-30T00:53:20.000Z; it is 2026-11-30T00:53:20.000Z',
    ],
    [
      'a beginning beyond the allowed skew',
      { notBefore: MADE_AT + 301_000 },
      'not-yet-valid: the new etcd CA is valid from 2026-11-30T00:58:21.000Z only; it is 2026-11-30T00:53:20.000Z, a skew of 300 s allowed',
    ],
    [
      'no right to sign certificates',
      { keyUsages: 1 },
      'key-usage: the new etcd CA may not sign certificates: its key usages are digitalSignature, keyCertSign is missing',
    ],
    [
      'the right to sign for servers only',
      { extendedKeyUsages: ['1.3.6.1.5.5.7.3.1'] },
      'extended-key-usage: the new etcd CA may not sign for client authentication: its extended key usages are 1.3.6.1.5.5.7.3.1',
    ],
    [
      'the right to sign for e-mail only',
      { extendedKeyUsages: ['1.3.6.1.5.5.7.3.4'] },
      'extended-key-usage: the new etcd CA may not sign for server and client authentication: its extended key usages are 1.3.6.1.5.5.7.3.4',
    ],
    [
      'an issuer above it',
      { issuer: 'CN=Corporate Root' },
      'self-signed: the new etcd CA is not a root: its issuer is CN=Corporate Root',
    ],
    [
      'a serial number beyond 20 octets',
      { serial: '7f'.repeat(21) },
      'serial: the new etcd CA has a serial number of 21 octets; X.509 allows 20',
    ],
    [
      'a critical extension that is not understood everywhere',
      { extra: [new Extension('2.5.29.30', true, new Uint8Array([0x30, 0]))] },
      'critical-extension: the new etcd CA has critical extensions that not every verifier knows: 2.5.29.30',
    ],
  ];
  for (const [what, odd, expected] of refused) {
    it(`refuses ${what}`, async () => {
      expect(await problemsOf(odd)).toEqual([expected]);
    });
  }

  it('refuses a path length in what is no CA', async () => {
    expect(await problemsOf({ isCa: false, pathLength: 2 })).toEqual([
      'not-a-ca: the new etcd CA is not a CA: its basic constraints do not say so',
      'path-length: the new etcd CA states a path length of 2 without being a CA',
    ]);
  });

  it('names an issuer that has no name', async () => {
    expect(await problemsOf({ issuer: '' })).toEqual([
      'self-signed: the new etcd CA is not a root: its issuer is an empty name',
    ]);
  });

  it('refuses a signature of its own name by another key', async () => {
    expect(await problemsOf({ signer: await oddKeys() })).toEqual([
      'self-signed: the new etcd CA is not signed by its own key',
    ]);
  });

  it('refuses a weak key and a weak digest, naming what is allowed', async () => {
    const rsa = (modulusLength: number, hash: string) =>
      oddKeys({ name: 'RSASSA-PKCS1-v1_5', modulusLength, hash, publicExponent: new Uint8Array([1, 0, 1]) });
    const signingAlgorithm = { name: 'RSASSA-PKCS1-v1_5' };

    expect(await problemsOf({ keys: await rsa(1024, 'SHA-256'), signingAlgorithm })).toEqual([
      'algorithm: the new etcd CA has a key of algorithm other:rsa-1024; allowed are ed25519, ecdsa-p256, ecdsa-p384, ecdsa-p521, rsa-2048, rsa-3072, rsa-4096',
    ]);
    expect(await problemsOf({ keys: await rsa(2048, 'SHA-1'), signingAlgorithm })).toEqual([
      'algorithm: the new etcd CA is signed with algorithm 1.2.840.113549.1.1.5, after which Talos cannot issue; allowed are Ed25519, ECDSA with SHA-256, ECDSA with SHA-384, ECDSA with SHA-512, RSA with SHA-256, RSA with SHA-384, RSA with SHA-512',
    ]);
    expect(await problemsOf({ keys: await rsa(2048, 'SHA-256'), signingAlgorithm })).toEqual([]);
  });

  it('allows the algorithms that the caller allows', async () => {
    expect(await problemsOf({}, { algorithms: ['ed25519'] })).toEqual([
      'algorithm: the new etcd CA has a key of algorithm ecdsa-p256; allowed are ed25519',
    ]);
  });

  it('allows a beginning within the stated skew, and never stretches an end', async () => {
    expect(await problemsOf({ notBefore: MADE_AT + 300_000 })).toEqual([]);
    expect(await problemsOf({ notBefore: MADE_AT + HOUR }, { clockSkewMs: HOUR })).toEqual([]);
    expect(await problemsOf({ notBefore: MADE_AT + 1_000 }, { clockSkewMs: 0 })).toHaveLength(1);
    expect(await problemsOf({ notAfter: MADE_AT + 1_000 })).toEqual([]);
    expect(await problemsOf({ notAfter: MADE_AT - 1_000 }, { clockSkewMs: HOUR })).toHaveLength(1);
  });

  it('takes a serial number of 20 octets', async () => {
    expect(await problemsOf({ serial: '7f'.repeat(20) })).toEqual([]);
    // Written with a zero octet in front, which says that it is positive.
    expect(await problemsOf({ serial: 'ff'.repeat(20) })).toEqual([]);
  });

  it.each([0xf0, 0x80])('refuses a negative serial number, which begins with %i', async (octet) => {
    const { certificate } = await anOddCertificate({ serial: '70'.repeat(16) });

    const problems = lintCa({ certificate: withSerialByte(certificate, octet) }, options());

    // Changing a byte also breaks the signature.
    expect(problems.map(({ rule }) => rule)).toEqual(['self-signed', 'serial']);
    expect(problems[1]?.message).toMatch(/ has a negative serial number, which Go refuses$/);
  });

  it('reports everything at once', async () => {
    const problems = await problemsOf({ isCa: false, notAfter: MADE_AT - HOUR, keyUsages: 1, extendedKeyUsages: [] });

    expect(problems.map((text) => text.split(':')[0])).toEqual([
      'not-a-ca',
      'expired',
      'key-usage',
      'extended-key-usage',
    ]);
  });
});

/** The same certificate with another first octet of its serial number. */
function withSerialByte(certificate: Certificate, octet: number): Certificate {
  const { serial } = readX509(certificate.der);
  const at = Buffer.from(certificate.der).indexOf(serial);
  return certificateFromDer(certificate.der.map((old, index) => (index === at ? octet : old)));
}
