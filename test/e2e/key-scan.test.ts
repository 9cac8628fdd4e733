import { describe, expect, it } from 'vitest';
import { createCa } from '../../pkg/pki/index.ts';
import { findKeyBytes } from './key-scan.ts';

describe('the scan for key bytes', () => {
  it('finds a key as PEM, as base64 of PEM, in JSON, and in hexadecimal', async () => {
    const { key } = await createCa('etcd', { now: Date.parse('2026-01-01T00:00:00Z') });
    const pem = key.expose();
    const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');

    const found = findKeyBytes(
      {
        pem,
        base64: Buffer.from(pem).toString('base64'),
        json: JSON.stringify({ key: pem }),
        hex: der.toString('hex'),
        clean: 'nothing to see',
      },
      [pem],
    );

    expect(found).toEqual([
      'pem holds bytes of key 1',
      'base64 holds bytes of key 1',
      'json holds bytes of key 1',
      'hex holds bytes of key 1',
    ]);
  });
});
