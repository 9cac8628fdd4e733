import { describe, expect, it } from 'vitest';
import { oneSecond, timed } from '../../test/support/one-second.ts';
import { parsePem, writePemBlock } from './pem.ts';

describe('large input', () => {
  it('four megabytes of PEM take less than a second', () => {
    const bytes = new Uint8Array(3 << 20).fill(7);
    const text = writePemBlock('CERTIFICATE', bytes);
    const oneLine = `-----BEGIN X-----\n${Buffer.from(bytes).toString('base64')}\n-----END X-----\n`;

    const { result, ms } = timed(() => [...parsePem(text), ...parsePem(oneLine)]);

    expect(result.map((found) => found.bytes.length)).toEqual([3145728, 3145728]);
    expect(ms).toBeLessThan(oneSecond());
  });
});
