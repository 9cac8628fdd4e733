import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import forge from 'node-forge';
import { describe, expect, it } from 'vitest';
import { parsePem } from './pem.ts';
import { keyObjectOf, writePrivateKey } from './private-key.ts';
import { createServiceAccountKey, parsePublicKeys, parseServiceAccountKey } from './service-account-key.ts';

const invalid = (message: string) => expect.objectContaining({ name: 'PkiError', kind: 'invalid-key', message });

describe('a service-account key', () => {
  it('is RSA with 4096 bits, as PKCS#1 and under Talos labels, and node-forge reads the same key', async () => {
    const key = await createServiceAccountKey();

    expect(parsePem(key.privateKey.expose()).map((block) => block.label)).toEqual(['RSA PRIVATE KEY']);
    expect(parsePem(key.publicKey).map((block) => block.label)).toEqual(['PUBLIC KEY']);
    const second = forge.pki.privateKeyFromPem(key.privateKey.expose());
    const secondPublic = forge.pki.publicKeyFromPem(key.publicKey);
    expect(second.n.bitLength()).toBe(4096);
    expect(second.e.intValue()).toBe(65537);
    expect(secondPublic.n.equals(second.n)).toBe(true);
    const digest = forge.md.sha256.create().update('a token');
    expect(secondPublic.verify(digest.digest().getBytes(), second.sign(digest))).toBe(true);
  });

  it('signs with one half what the other half accepts', async () => {
    const key = await createServiceAccountKey({ algorithm: 'ecdsa-p256' });

    const signature = sign('sha256', Buffer.from('a token'), keyObjectOf(key.privateKey));

    expect(parsePem(key.publicKey).map((block) => block.label)).toEqual(['EC PUBLIC KEY']);
    const [block] = parsePem(key.publicKey);
    const publicKey = createPublicKey({ key: Buffer.from(block?.bytes ?? []), format: 'der', type: 'spki' });
    expect(verify('sha256', Buffer.from('a token'), publicKey, signature)).toBe(true);
  });

  it('is read back from its private half alone', async () => {
    const key = await createServiceAccountKey({ algorithm: 'rsa-2048' });

    expect(parseServiceAccountKey(key.privateKey)).toEqual(key);
    expect(parsePublicKeys(key.publicKey)).toEqual([{ pem: key.publicKey, fingerprint: key.fingerprint }]);
  });

  it('is refused when it cannot sign tokens', () => {
    const ed25519 = writePrivateKey(generateKeyPairSync('ed25519').privateKey);
    const short = writePrivateKey(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey);

    expect(() => parseServiceAccountKey(ed25519, 's.yaml')).toThrow(
      invalid(
        's.yaml: service-account tokens are signed with RSA (2048, 3072 or 4096 bits) or ECDSA keys, found ed25519',
      ),
    );
    expect(() => parseServiceAccountKey(short)).toThrow(
      'service-account tokens are signed with RSA (2048, 3072 or 4096 bits) or ECDSA keys, found other:rsa-1024',
    );
  });
});

describe('reading public keys', () => {
  it('keeps their order and refuses other blocks, an empty text and damage', async () => {
    const [a, b] = [
      await createServiceAccountKey({ algorithm: 'ecdsa-p256' }),
      await createServiceAccountKey({ algorithm: 'rsa-2048' }),
    ];

    expect(parsePublicKeys(b.publicKey + a.publicKey).map((key) => key.fingerprint)).toEqual([
      b.fingerprint,
      a.fingerprint,
    ]);
    expect(() => parsePublicKeys('', 'accepted')).toThrow(
      invalid('accepted: expected at least one public key, found none'),
    );
    expect(() => parsePublicKeys(a.publicKey + a.privateKey.expose(), 'accepted')).toThrow(
      invalid(
        'accepted, line 5: expected a public key (PUBLIC KEY, EC PUBLIC KEY, ED25519 PUBLIC KEY), found EC PRIVATE KEY',
      ),
    );
    expect(() => parsePublicKeys('-----BEGIN PUBLIC KEY-----\nAAEC\n-----END PUBLIC KEY-----\n')).toThrow(
      invalid('line 1: the PUBLIC KEY block holds no public key'),
    );
    expect(() => parsePublicKeys(a.publicKey.trimEnd() + b.publicKey)).toThrow('two blocks share this line');
  });
});
