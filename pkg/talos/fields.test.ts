import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { publicKeyFingerprint, readAddress, sha256 } from './fields.ts';

describe('publicKeyFingerprint', () => {
  it('is that of the public half, of each key its own, however often it is asked for', () => {
    const keys = Array.from({ length: 2 }, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
    const pem = keys.map((key) => Buffer.from(key.export({ type: 'sec1', format: 'pem' })));
    const expected = keys.map((key) => sha256(createPublicKey(key).export({ type: 'spki', format: 'der' })));

    for (let times = 0; times < 2; times += 1)
      expect(pem.map((text) => publicKeyFingerprint(text, 'a field'))).toEqual(expected);
  });

  it('refuses what is no key each time anew, by the name of its field', () => {
    for (const where of ['spec.key', 'spec.other'])
      expect(() => publicKeyFingerprint(Buffer.from('-----BEGIN PRIVATE KEY-----'), where)).toThrow(where);
  });
});

describe('readAddress', () => {
  it.each([
    [[10, 77, 0, 11], '10.77.0.11'],
    [[0xfd, 0, ...Array(13).fill(0), 1], 'fd00::1'],
    [Array(16).fill(0), '::'],
    [[...Array(15).fill(0), 1], '::1'],
    [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], '2001:db8:0:1::1'],
    [[0xfe, 0x80, ...Array(13).fill(0), 1, ...Buffer.from('eth0')], 'fe80::1%eth0'],
    [[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8], '1:2:3:4:5:6:7:8'],
    [[1, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], '100:0:1000::2'],
    [[], ''],
  ])('reads %j as %s', (bytes, text) => {
    expect(readAddress(Uint8Array.from(bytes as number[]))).toBe(text);
  });
});
