import { describe, expect, it } from 'vitest';
import { createEncryptionKey, type EncryptionProvider, parseEncryptionKey } from './encryption-key.ts';
import { Secret } from './secret.ts';

const bytes = (count: number) => Buffer.alloc(count, 7).toString('base64');

describe('an encryption key', () => {
  for (const provider of ['secretbox', 'aescbc', 'aesgcm'] as const) {
    it(`for ${provider} is 32 random bytes in base64`, () => {
      const [one, two] = [createEncryptionKey(provider, 'key2'), createEncryptionKey(provider, 'key2')];

      expect(one).toMatchObject({ provider, name: 'key2' });
      expect(one.secret.expose()).toMatch(/^[A-Za-z0-9+/]{43}=$/);
      expect(one.secret.equals(two.secret)).toBe(false);
    });
  }

  it('takes its bytes from the given generator', () => {
    const key = createEncryptionKey('secretbox', 'key2', (count) => new Uint8Array(count).fill(7));

    expect(key.secret.expose()).toBe('BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=');
  });

  const lengths: readonly (readonly [EncryptionProvider, number, boolean])[] = [
    ['secretbox', 32, true],
    ['secretbox', 16, false],
    ['secretbox', 24, false],
    ['secretbox', 33, false],
    ['aescbc', 16, true],
    ['aescbc', 24, true],
    ['aescbc', 32, true],
    ['aescbc', 31, false],
    ['aesgcm', 16, true],
    ['aesgcm', 24, true],
    ['aesgcm', 32, true],
    ['aesgcm', 0, false],
  ];
  for (const [provider, count, accepted] of lengths) {
    it(`for ${provider} ${accepted ? 'may' : 'must not'} have ${count} bytes`, () => {
      const parse = () => parseEncryptionKey(provider, 'key1', bytes(count));

      if (accepted) expect(parse().secret.expose()).toBe(bytes(count));
      else expect(parse).toThrow(`found ${count}`);
    });
  }

  it('is taken out of a secret as well', () => {
    const secret = Secret.of('encryption-key', bytes(32));

    expect(parseEncryptionKey('secretbox', 'key1', secret).secret.equals(secret)).toBe(true);
    expect(`${parseEncryptionKey('secretbox', 'key1', secret).secret}`).toBe('[encryption-key redacted]');
  });

  it('is refused with one kind of error', () => {
    const invalid = expect.objectContaining({ name: 'PkiError', kind: 'invalid-key' });

    expect(() => createEncryptionKey('secretbox', 'a:b')).toThrow(invalid);
    expect(() => createEncryptionKey('secretbox', '')).toThrow(invalid);
    expect(() => parseEncryptionKey('secretbox', 'key1', '!')).toThrow(invalid);
    expect(() => parseEncryptionKey('secretbox', 'key1', bytes(20))).toThrow(invalid);
  });

  it('is refused by name, length, alphabet and place, never by its value', () => {
    expect(() => parseEncryptionKey('aescbc', 'key1', bytes(20), 'cp-1.yaml')).toThrow(
      'cp-1.yaml: aescbc key key1: expected 16, 24, or 32 bytes, found 20',
    );
    expect(() => parseEncryptionKey('secretbox', '', bytes(32), 'cp-1.yaml')).toThrow(
      'cp-1.yaml: a secretbox key has no name',
    );
    expect(() => parseEncryptionKey('secretbox', 'key1', '!', 'cp-1.yaml')).toThrow(
      'cp-1.yaml: secretbox key key1: expected standard base64',
    );
    expect(() => createEncryptionKey('secretbox', 'a:b')).toThrow(
      '"a:b" is no name for an encryption key: it holds a colon',
    );
    for (const text of [`${bytes(32)}\n`, bytes(32).slice(0, -1), bytes(32).replace('c=', 'd='), 'not base64!']) {
      expect(() => parseEncryptionKey('secretbox', 'key1', text)).toThrow(
        /^secretbox key key1: expected standard base64$/,
      );
    }
  });
});
