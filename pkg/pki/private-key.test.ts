import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { aCa } from '../../test/builders/certificates.ts';
import { parsePem, writePemBlock } from './pem.ts';
import {
  generatePrivateKey,
  keyAlgorithm,
  keyFingerprint,
  keyFits,
  keyObjectOf,
  parsePrivateKey,
  toPkcs8,
  writePrivateKey,
} from './private-key.ts';
import { Secret } from './secret.ts';

/** RFC 8410, 10.3: the example Ed25519 key. */
const RFC_8410 = 'MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC';

describe('a private key', () => {
  const labels = [
    ['ed25519', 'ED25519 PRIVATE KEY'],
    ['ecdsa-p256', 'EC PRIVATE KEY'],
    ['ecdsa-p384', 'EC PRIVATE KEY'],
    ['ecdsa-p521', 'EC PRIVATE KEY'],
    ['rsa-2048', 'RSA PRIVATE KEY'],
  ] as const;
  for (const [algorithm, label] of labels) {
    it(`of ${algorithm} is written as ${label}, read back and usable`, async () => {
      const key = writePrivateKey(await generatePrivateKey(algorithm));

      expect(parsePem(key.expose()).map((block) => block.label)).toEqual([label]);
      expect(key.expose().endsWith('-----\n')).toBe(true);
      expect(parsePrivateKey(key.expose()).equals(key)).toBe(true);
      expect(keyAlgorithm(key)).toBe(algorithm);
      const digest = algorithm === 'ed25519' ? null : 'sha256';
      const signature = sign(digest, Buffer.from('x'), keyObjectOf(key));
      expect(verify(digest, Buffer.from('x'), createPublicKey(keyObjectOf(key)), signature)).toBe(true);
    });

    it(`of ${algorithm} is the same key as PKCS#8, which Node takes`, async () => {
      const key = writePrivateKey(await generatePrivateKey(algorithm));

      const pkcs8 = toPkcs8(key);

      expect(pkcs8.expose()).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
      expect(keyFingerprint(pkcs8)).toBe(keyFingerprint(key));
      expect(keyAlgorithm(parsePrivateKey(pkcs8))).toBe(algorithm);
      expect(() => createPrivateKey(pkcs8.expose())).not.toThrow();
    });
  }

  it('of an algorithm for which Talos has no label is written as PKCS#8', () => {
    const text = writePrivateKey(generateKeyPairSync('ed448').privateKey).expose();

    expect(text).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    expect(createPrivateKey(text).asymmetricKeyType).toBe('ed448');
  });

  it('under the label of Talos is read where Node itself refuses it', async () => {
    const { certificate, key } = await aCa('talos');

    expect(() => createSecureContext({ cert: certificate.pem, key: key.expose() })).toThrow();
    expect(() => createSecureContext({ cert: certificate.pem, key: toPkcs8(key).expose() })).not.toThrow();
  });

  it('keeps its text as it was written, but for the line ends', () => {
    const text = `-----BEGIN ED25519 PRIVATE KEY-----\r\n${RFC_8410}\r\n-----END ED25519 PRIVATE KEY-----`;

    expect(parsePrivateKey(text).expose()).toBe(
      `-----BEGIN ED25519 PRIVATE KEY-----\n${RFC_8410}\n-----END ED25519 PRIVATE KEY-----\n`,
    );
  });

  it('has the fingerprint of its public half', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const certificateLike = publicKey.export({ type: 'spki', format: 'der' });

    expect(keyFingerprint(writePrivateKey(privateKey))).toMatch(/^[0-9a-f]{64}$/);
    expect(createPublicKey(keyObjectOf(writePrivateKey(privateKey))).export({ type: 'spki', format: 'der' })).toEqual(
      certificateLike,
    );
  });

  it('fits its own certificate and no other', async () => {
    const [one, two] = [await aCa('etcd'), await aCa('etcd')];

    expect(keyFits(one.certificate, one.key)).toBe(true);
    expect(keyFits(one.certificate, two.key)).toBe(false);
    expect(keyFits(one.certificate, toPkcs8(one.key))).toBe(true);
  });
});

describe('reading a private key refuses', () => {
  const sec1 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'der' });
  const rsaPkcs8 = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'der',
  });
  const refused: Readonly<Record<string, readonly [text: string, message: string]>> = {
    'a redacted one': ['******', 's.yaml: the private key is redacted ("******"): read it from the original'],
    nothing: ['', 's.yaml: expected exactly one private key, found no PEM block'],
    two: [
      writePemBlock('EC PRIVATE KEY', sec1).repeat(2),
      's.yaml: expected exactly one private key, found a second block (EC PRIVATE KEY) at line 6',
    ],
    'a certificate': [
      writePemBlock('CERTIFICATE', sec1),
      's.yaml: expected a private key (ED25519 PRIVATE KEY, EC PRIVATE KEY, RSA PRIVATE KEY, PRIVATE KEY), found CERTIFICATE',
    ],
    'SEC1 under the label of PKCS#8': [
      writePemBlock('PRIVATE KEY', sec1),
      's.yaml: the PRIVATE KEY block holds no PKCS8 private key',
    ],
    'PKCS#8 under the label of SEC1': [
      writePemBlock('EC PRIVATE KEY', Buffer.from(RFC_8410, 'base64')),
      's.yaml: the EC PRIVATE KEY block holds no SEC1 private key',
    ],
    'an RSA key under the label of Ed25519': [
      writePemBlock('ED25519 PRIVATE KEY', rsaPkcs8),
      's.yaml: the ED25519 PRIVATE KEY block holds a key of another algorithm: rsa-2048',
    ],
    'bytes behind the key': [
      writePemBlock('EC PRIVATE KEY', Buffer.concat([sec1, Buffer.from([5, 0])])),
      's.yaml: the EC PRIVATE KEY block holds no SEC1 private key',
    ],
    'a damaged key': [
      writePemBlock('EC PRIVATE KEY', sec1.subarray(0, 40)),
      's.yaml: the EC PRIVATE KEY block holds no SEC1 private key',
    ],
    'an encrypted key': [
      writePemBlock('ENCRYPTED PRIVATE KEY', sec1),
      's.yaml: the private key is encrypted: decrypt it first (openssl pkey -in …)',
    ],
  };
  for (const [what, [text, message]] of Object.entries(refused)) {
    it(`${what}, without quoting it`, () => {
      let error: unknown;
      try {
        parsePrivateKey(Secret.of('private-key', text), 's.yaml');
      } catch (cause) {
        error = cause;
      }

      expect(error).toMatchObject({ name: 'PkiError', kind: 'invalid-key', message });
      expect(error).not.toHaveProperty('cause');
      expect((error as Error).stack).not.toContain('MC4CAQ');
    });
  }
});
