import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseCertificates, scanCertificates } from './index.ts';
import { remembered } from './remember.ts';

describe('a remembered reading', () => {
  function counted(limit: number) {
    const reads: string[] = [];
    const read = remembered((text) => {
      reads.push(text);
      return { text };
    }, limit);
    return { read, reads };
  }

  it('is made once for the same text', () => {
    const { read, reads } = counted(100);

    expect(read('a')).toBe(read('a'));
    expect(reads).toEqual(['a']);
  });

  it('forgets what was not asked for longest, as soon as there is too much', () => {
    const { read, reads } = counted(8);

    for (const text of ['aa', 'bb', 'cc', 'dd', 'aa', 'ee', 'aa', 'bb']) read(text);

    expect(reads).toEqual(['aa', 'bb', 'cc', 'dd', 'ee', 'bb']);
  });

  it('keeps no text that would push out everything else', () => {
    const { read, reads } = counted(8);

    for (const text of ['a', 'long', 'long', 'a']) read(text);

    expect(reads).toEqual(['a', 'long', 'long']);
  });

  it('is not made of a text that holds a private key', () => {
    const certificate = readFileSync(new URL('testdata/os.crt', import.meta.url), 'utf8');
    const withKey = `${certificate}-----BEGIN ED25519 PRIVATE KEY-----\nAA==\n-----END ED25519 PRIVATE KEY-----\n`;

    expect(scanCertificates(certificate)).toBe(scanCertificates(certificate));
    expect(scanCertificates(withKey)).not.toBe(scanCertificates(withKey));
  });

  it('gives every reader of a bundle a list of its own', () => {
    const pem = readFileSync(new URL('testdata/os.crt', import.meta.url), 'utf8');

    const first = parseCertificates(pem);
    first.pop();

    expect(parseCertificates(pem)).toHaveLength(1);
    expect(scanCertificates(pem).certificates).toHaveLength(1);
  });
});
