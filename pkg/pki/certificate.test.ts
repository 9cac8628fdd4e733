import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  algorithmOf,
  certificateFromDer,
  parseCertificate,
  parseCertificates,
  scanCertificates,
  writeCertificates,
} from './certificate.ts';
import { compareBundles, isSubset, sameBundle } from './compare.ts';
import { writePemBlock } from './pem.ts';

/** Made by talosctl 1.14.1 (`gen secrets`, `gen config`); the expected values were read by openssl 3.0. */
const made = (name: string) => readFileSync(new URL(`testdata/${name}.crt`, import.meta.url), 'utf8');
const [os, kubernetes, etcd, aggregator, admin] = ['os', 'k8s', 'etcd', 'k8saggregator', 'admin'].map(made) as [
  string,
  string,
  string,
  string,
  string,
];

describe('reading a certificate that Talos made', () => {
  it('gives the Talos CA', () => {
    const { der, ...read } = parseCertificate(os);

    expect(read).toEqual({
      pem: os,
      fingerprint: '37a4d70c96618599a089b67544f9c37009d5257f5f8fbd641a18b82de99d18d6',
      publicKeyFingerprint: '3aa510bc82d9930823bbc96e5679e355131d702093a6f52488e067ff04acf89e',
      subject: 'O=talos',
      issuer: 'O=talos',
      serial: 'e904bc2e52a1fdda8cdaf45c7e6d4293',
      notBefore: Date.parse('2026-11-29T21:44:04Z'),
      notAfter: Date.parse('2036-11-26T21:44:04Z'),
      isCa: true,
      algorithm: 'ed25519',
    });
    expect(der).toHaveLength(323);
  });

  it('gives the aggregator CA, which has no name', () => {
    expect(parseCertificate(aggregator)).toMatchObject({
      fingerprint: '3aae1b625c94dc80506071e9734c0e507d2cdfa344d4069d8f799e464c4169be',
      publicKeyFingerprint: 'd3a8ee10d657388c574164206b440647ad8dd8e13cc7e784a08a5ae0c84ebce3',
      subject: '',
      issuer: '',
      serial: '72afb7a9fa4627254839cda51b6367fb',
      isCa: true,
      algorithm: 'ecdsa-p256',
    });
  });

  it('gives the administrator, who is no CA', () => {
    expect(parseCertificate(admin)).toMatchObject({
      subject: 'O=os:admin',
      issuer: 'O=talos',
      notBefore: Date.parse('2026-11-29T21:44:06Z'),
      notAfter: Date.parse('2027-11-29T21:44:06Z'),
      isCa: false,
    });
  });

  it('keeps the text as it was written', () => {
    const [begin, ...rest] = os.trimEnd().split('\n');
    const end = rest.pop();
    const unusual = `${begin}\n${rest.join('')}\n${end}`;

    const read = parseCertificate(unusual);

    expect(read.pem).toBe(`${unusual}\n`);
    expect(read.fingerprint).toBe('37a4d70c96618599a089b67544f9c37009d5257f5f8fbd641a18b82de99d18d6');
  });
});

describe('reading one certificate', () => {
  it('refuses two', () => {
    expect(() => parseCertificate(os + etcd, 'ca.crt')).toThrow(
      expect.objectContaining({
        kind: 'invalid-certificate',
        message: 'ca.crt: expected exactly one certificate, found 2',
      }),
    );
  });

  it('refuses bytes that are no certificate', () => {
    expect(() => parseCertificate(writePemBlock('CERTIFICATE', Buffer.from('nonsense')), 'ca.crt')).toThrow(
      /^ca\.crt, line 1: the bytes are no X\.509 certificate: /,
    );
  });

  it('refuses bytes behind the certificate, as Go does', () => {
    const { der } = parseCertificate(os);
    const longer = writePemBlock('CERTIFICATE', new Uint8Array([...der, 5, 0]));

    expect(() => parseCertificate(longer)).toThrow(
      'line 1: the bytes are no X.509 certificate: bytes follow the certificate',
    );
  });

  it('refuses a certificate that is cut off anywhere', () => {
    const { der } = parseCertificate(etcd);
    for (let length = 0; length < der.length; length += 1) {
      expect(() => parseCertificate(writePemBlock('CERTIFICATE', der.subarray(0, length)))).toThrow(/^line 1: /);
    }
  });

  it('never fails otherwise than by name when a byte is changed', () => {
    const { der } = parseCertificate(etcd);
    for (let index = 0; index < der.length; index += 1) {
      const changed = der.map((octet, at) => (at === index ? octet ^ 0xff : octet));
      const { certificates, problems } = scanCertificates(writePemBlock('CERTIFICATE', changed));
      expect(certificates.length + problems.length).toBe(1);
    }
  });
});

describe('reading a certificate from its DER', () => {
  it('says why it is none, and keeps what its reader said', () => {
    expect(() => certificateFromDer(new Uint8Array([0x30, 0x00]))).toThrow(
      expect.objectContaining({
        name: 'PkiError',
        kind: 'invalid-certificate',
        message: 'the bytes are no X.509 certificate: the certificate body is missing or of another type',
        cause: new RangeError('the certificate body is missing or of another type'),
      }),
    );
  });
});

describe('the algorithm of a key', () => {
  const rsa = (bytes: number) =>
    createPublicKey({
      key: { kty: 'RSA', n: Buffer.alloc(bytes, 0xff).toString('base64url'), e: 'AQAB' },
      format: 'jwk',
    });

  it.each([
    ['rsa-2048', rsa(256)],
    ['rsa-3072', rsa(384)],
    ['rsa-4096', rsa(512)],
    ['other:rsa-1024', rsa(128)],
    ['ecdsa-p256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey],
    ['ecdsa-p384', generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey],
    ['ecdsa-p521', generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey],
    ['other:secp256k1', generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey],
    ['ed25519', generateKeyPairSync('ed25519').publicKey],
    ['other:ed448', generateKeyPairSync('ed448').publicKey],
  ])('is %s', (name, key) => {
    expect(algorithmOf(key)).toBe(name);
  });
});

describe('reading a bundle', () => {
  it('gives every certificate in order and writes the same bytes', () => {
    const text = os + aggregator + etcd + kubernetes;

    const read = parseCertificates(text);

    expect(read.map((certificate) => certificate.subject)).toEqual(['O=talos', '', 'O=etcd', 'O=kubernetes']);
    expect(writeCertificates(read)).toBe(text);
  });

  it('writes a newline after every block, also where the last one was missing', () => {
    const read = [...parseCertificates(os.trimEnd()), ...parseCertificates(etcd.trimEnd())];

    expect(writeCertificates(read)).toBe(os + etcd);
    expect(parseCertificates(writeCertificates(read))).toEqual(read);
  });

  const refused: Readonly<
    Record<string, readonly [text: string, message: string, kind: 'invalid-pem' | 'invalid-certificate']>
  > = {
    'an empty text': ['', 'ca.crt, line 1: expected at least one certificate, found none', 'invalid-certificate'],
    'a comment alone': [
      '# nothing\n',
      'ca.crt, line 1: expected at least one certificate, found none',
      'invalid-certificate',
    ],
    'a duplicate': [
      os + etcd + os,
      'ca.crt, line 20: certificate 37a4d70c96618599a089b67544f9c37009d5257f5f8fbd641a18b82de99d18d6 is a duplicate of the one at line 1',
      'invalid-certificate',
    ],
    'a private key': [
      `${os}-----BEGIN EC PRIVATE KEY-----\nAAEC\n-----END EC PRIVATE KEY-----\n`,
      'ca.crt, line 10: expected a CERTIFICATE block, found EC PRIVATE KEY',
      'invalid-certificate',
    ],
    'a key and broken text, both named': [
      `-----BEGIN EC PRIVATE KEY-----\nAAEC\n-----END EC PRIVATE KEY-----\n${os}-----BEGIN CERTIFICATE-----\n`,
      'ca.crt, line 1: expected a CERTIFICATE block, found EC PRIVATE KEY; line 13: the CERTIFICATE block is cut off: the text ends before its END marker',
      'invalid-certificate',
    ],
    'two keys and broken text, all named': [
      `${'-----BEGIN EC PRIVATE KEY-----\nAAEC\n-----END EC PRIVATE KEY-----\n'.repeat(2)}-----BEGIN CERTIFICATE-----\n`,
      'ca.crt, line 1: expected a CERTIFICATE block, found EC PRIVATE KEY; line 4: expected a CERTIFICATE block, found EC PRIVATE KEY; line 7: the CERTIFICATE block is cut off: the text ends before its END marker',
      'invalid-certificate',
    ],
    'two certificates without a newline between them': [
      os.trimEnd() + etcd,
      'ca.crt, line 9: two blocks share this line: a newline is missing after the END marker, and readers would lose both',
      'invalid-pem',
    ],
    'a block whose bytes are no certificate': [
      writePemBlock('CERTIFICATE', new Uint8Array([0x30, 0x00])),
      'ca.crt, line 1: the bytes are no X.509 certificate: the certificate body is missing or of another type',
      'invalid-certificate',
    ],
  };
  for (const [what, [text, message, kind]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      expect(() => parseCertificates(text, 'ca.crt')).toThrow(
        expect.objectContaining({ name: 'PkiError', kind, message }),
      );
    });
  }

  it('says of what kind each problem is', () => {
    const key = '-----BEGIN EC PRIVATE KEY-----\nAAEC\n-----END EC PRIVATE KEY-----\n';
    const nonsense = writePemBlock('CERTIFICATE', Buffer.from('nonsense'));
    const kinds = (text: string) => scanCertificates(text).problems.map(({ kind }) => kind);

    expect(kinds(key + nonsense + os + os + os.slice(0, 40))).toEqual(['foreign', 'unreadable', 'duplicate', 'broken']);
    expect(kinds('# nothing but a remark\n')).toEqual(['empty']);
  });

  it('can be looked at leniently: duplicates are kept and named', () => {
    const { certificates, problems } = scanCertificates(etcd + etcd);

    expect(certificates.map(({ subject }) => subject)).toEqual(['O=etcd', 'O=etcd']);
    expect(problems.map(({ kind, line }) => ({ kind, line }))).toEqual([{ kind: 'duplicate', line: 11 }]);
  });
});

describe('comparing bundles', () => {
  const [a, b, c] = [os, kubernetes, etcd].map((text) => parseCertificate(text)) as [
    ReturnType<typeof parseCertificate>,
    ReturnType<typeof parseCertificate>,
    ReturnType<typeof parseCertificate>,
  ];

  it('names what is missing, unexpected and repeated', () => {
    expect(compareBundles([a, b], [c, b, c])).toEqual({
      missing: [a],
      unexpected: [c, c],
      repeated: [c],
      reordered: false,
    });
  });

  it('names what is there twice and nothing else', () => {
    expect(compareBundles([a], [a, a])).toEqual({ missing: [], unexpected: [], repeated: [a], reordered: false });
  });

  it('sees another order of the common ones only', () => {
    expect(compareBundles([a, b], [b, a]).reordered).toBe(true);
    expect(compareBundles([a, b], [b, c, a]).reordered).toBe(true);
    expect(compareBundles([a, b, c], [b, a, c]).reordered).toBe(true);
    expect(compareBundles([a, b, c], [a, c]).reordered).toBe(false);
  });

  it('finds equal bundles equal whatever their text', () => {
    expect(sameBundle([a, b], [parseCertificate(os.trimEnd()), b])).toBe(true);
    expect(sameBundle([a, b], [b, a])).toBe(false);
    expect(sameBundle([a, b], [a, c])).toBe(false);
    expect(sameBundle([a], [a, b])).toBe(false);
    expect(sameBundle([a, a], [a])).toBe(false);
  });

  it('knows a subset in any order', () => {
    expect(isSubset([c, a], [a, b, c])).toBe(true);
    expect(isSubset([], [a])).toBe(true);
    expect(isSubset([a, b], [a])).toBe(false);
  });
});
