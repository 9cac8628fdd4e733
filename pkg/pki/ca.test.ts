import * as x509 from '@peculiar/x509';
import forge from 'node-forge';
import { describe, expect, it } from 'vitest';
import { aCa, MADE_AT } from '../../test/builders/certificates.ts';
import type { CaTarget } from './ca.ts';
import { parseCertificate } from './certificate.ts';
import { lintCa } from './lint.ts';
import { parsePem } from './pem.ts';
import { keyFits } from './private-key.ts';

const HOUR = 3_600_000;

/** What `talosctl gen secrets` makes, target by target. */
const TALOS: readonly (readonly [CaTarget, subject: string, algorithm: string, label: string])[] = [
  ['talos', 'O=talos', 'ed25519', 'ED25519 PRIVATE KEY'],
  ['kubernetes', 'O=kubernetes', 'ecdsa-p256', 'EC PRIVATE KEY'],
  ['etcd', 'O=etcd', 'ecdsa-p256', 'EC PRIVATE KEY'],
  ['kubernetes-aggregator', '', 'ecdsa-p256', 'EC PRIVATE KEY'],
];

describe('creating a CA', () => {
  for (const [target, subject, algorithm, label] of TALOS) {
    it(`for ${target} follows the profile of Talos, as @peculiar/x509 reads it`, async () => {
      const { certificate, key } = await aCa(target);

      const second = new x509.X509Certificate(certificate.pem);
      expect(second.subject).toBe(subject);
      expect(second.issuer).toBe(subject);
      expect(second.notBefore.getTime()).toBe(MADE_AT);
      expect(second.notAfter.getTime()).toBe(MADE_AT + 87_600 * HOUR);
      expect(second.extensions.map((extension) => [extension.type, extension.critical])).toEqual([
        ['2.5.29.15', true],
        ['2.5.29.37', false],
        ['2.5.29.19', true],
        ['2.5.29.14', false],
      ]);
      expect(second.getExtension(x509.KeyUsagesExtension)?.usages).toBe(1 | 32);
      expect(second.getExtension(x509.ExtendedKeyUsageExtension)?.usages).toEqual([
        '1.3.6.1.5.5.7.3.1',
        '1.3.6.1.5.5.7.3.2',
      ]);
      expect(second.getExtension(x509.BasicConstraintsExtension)).toMatchObject({ ca: true, pathLength: undefined });
      expect(await second.verify({ date: new Date(MADE_AT + HOUR) })).toBe(true);
      expect(certificate.algorithm).toBe(algorithm);
      expect(certificate.isCa).toBe(true);
      expect(keyFits(certificate, key)).toBe(true);
      expect(parsePem(key.expose()).map((block) => block.label)).toEqual([label]);
      expect(certificate.pem).toMatch(/^-----BEGIN CERTIFICATE-----\n(?:.{1,64}\n)+-----END CERTIFICATE-----\n$/);
      expect(parseCertificate(certificate.pem)).toEqual(certificate);
      expect(lintCa({ certificate, key }, { now: MADE_AT, name: 'it' })).toEqual([]);
    });
  }

  it('draws 16 bytes for the serial number and 20 for the key identifier, unrelated to the key', async () => {
    const asked: number[] = [];
    const random = (count: number) => {
      asked.push(count);
      return new Uint8Array(count).fill(0xab);
    };

    const { certificate } = await aCa('etcd', { random });

    expect(asked).toEqual([16, 20]);
    expect(certificate.serial).toBe('ab'.repeat(16));
    const second = new x509.X509Certificate(certificate.pem);
    expect(second.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId).toBe('ab'.repeat(20));
  });

  it('writes a small serial number in its shortest form', async () => {
    const random = (count: number) => new Uint8Array(count).fill(0x85, count - 1);

    const { certificate } = await aCa('etcd', { random });

    expect(certificate.serial).toBe('85');
    expect(new x509.X509Certificate(certificate.pem).serialNumber).toBe('85');
  });

  it('gives two CAs nothing in common but their name', async () => {
    const [one, two] = [(await aCa('talos')).certificate, (await aCa('talos')).certificate];

    expect(one.subject).toBe(two.subject);
    expect(one.fingerprint).not.toBe(two.fingerprint);
    expect(one.publicKeyFingerprint).not.toBe(two.publicKeyFingerprint);
    expect(one.serial).not.toBe(two.serial);
  });

  it('takes another validity, also one beyond 2050, and begins earlier when asked to', async () => {
    const { certificate } = await aCa('kubernetes', { validityMs: 30 * 8_766 * HOUR, backdateMs: 5 * 60_000 });

    expect(certificate.notBefore).toBe(MADE_AT - 300_000);
    expect(certificate.notAfter).toBe(MADE_AT - 300_000 + 30 * 8_766 * HOUR);
    expect(new Date(certificate.notAfter).getUTCFullYear()).toBe(2056);
  });

  it('cuts a time to the second it is in', async () => {
    const { certificate } = await aCa('talos', { now: MADE_AT + 999 });

    expect(certificate.notBefore).toBe(MADE_AT);
  });

  for (const [algorithm, signature] of [
    ['ed25519', { name: 'Ed25519' }],
    ['ecdsa-p256', { name: 'ECDSA', hash: { name: 'SHA-256' } }],
    ['ecdsa-p384', { name: 'ECDSA', hash: { name: 'SHA-384' } }],
    ['ecdsa-p521', { name: 'ECDSA', hash: { name: 'SHA-512' } }],
    ['rsa-2048', { name: 'RSASSA-PKCS1-v1_5', hash: { name: 'SHA-512' } }],
  ] as const) {
    it(`takes ${algorithm} when asked to`, async () => {
      const { certificate, key } = await aCa('kubernetes', { algorithm });

      expect(certificate.algorithm).toBe(algorithm);
      expect(new x509.X509Certificate(certificate.pem).signatureAlgorithm).toMatchObject(signature);
      expect(lintCa({ certificate, key }, { now: MADE_AT, name: 'it' })).toEqual([]);
    });
  }

  it('in RSA is read and verified by node-forge, too', async () => {
    const { certificate } = await aCa('kubernetes', { algorithm: 'rsa-2048' });

    const second = forge.pki.certificateFromPem(certificate.pem);

    expect(second.subject.getField('O').value).toBe('kubernetes');
    expect(second.verify(second)).toBe(true);
    expect(second.getExtension('basicConstraints')).toMatchObject({ cA: true });
  });
});
