import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signCertificate } from './sign.ts';

describe('signing a certificate', () => {
  it.each([
    ['other:secp256k1', generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey],
    ['other:ed448', generateKeyPairSync('ed448').privateKey],
  ])('is refused with a key of %s', async (algorithm, issuer) => {
    const template = {
      subject: { cn: 'x' },
      issuer: { cn: 'x' },
      serial: new Uint8Array([1]),
      notBefore: 0,
      notAfter: 1_000,
      keyUsages: [],
      extendedKeyUsages: [],
      isCa: false,
    };

    await expect(signCertificate(template, { subject: issuer, issuer, digest: 'SHA-256' })).rejects.toMatchObject({
      kind: 'unsupported',
      message: `a CA with an ${algorithm} key cannot sign: use Ed25519, ECDSA or RSA`,
    });
  });
});
