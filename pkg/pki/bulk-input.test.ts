import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { parsePem, writePemBlock } from './pem.ts';

describe('large input', () => {
  it('four megabytes of PEM take less than a second', () => {
    const bytes = new Uint8Array(3 << 20).fill(7);
    const text = writePemBlock('CERTIFICATE', bytes);
    const oneLine = `-----BEGIN X-----\n${Buffer.from(bytes).toString('base64')}\n-----END X-----\n`;

    const { result, ms } = timed(() => [...parsePem(text), ...parsePem(oneLine)]);

    expect(result.map((found) => found.bytes.length)).toEqual([3145728, 3145728]);
    expect(ms).toBeLessThan(budget());
  });
});

function timed<T>(run: () => T): { result: T; ms: number } {
  const begin = performance.now();
  const result = run();
  return { result, ms: performance.now() - begin };
}

/** One second on a machine that does nothing else; measured against plain work, so that a loaded machine does not fail. */
function budget(): number {
  const { ms } = timed(() => {
    let sum = 0;
    for (let n = 0; n < 30_000_000; n++) sum += n % 7;
    return sum;
  });
  return 1000 * Math.max(1, ms / 60);
}
