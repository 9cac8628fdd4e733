import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LONG_FILES, placeOf } from './file-order.ts';

describe('the order of test files', () => {
  it('begins with the one that takes longest', () => {
    expect(placeOf('/home/somebody/ichor/test/e2e/three-and-one.test.ts')).toBe(0);
  });

  it('has the files that are not named after those that are', () => {
    expect(placeOf('/home/somebody/ichor/test/tools/pins.test.ts')).toBe(LONG_FILES.length);
    expect(placeOf('/home/somebody/ichor/test/e2e/not-three-and-one.test.ts')).toBe(LONG_FILES.length);
  });

  it.each(LONG_FILES)('names a file that is there: %s', (name) => {
    expect(existsSync(join(import.meta.dirname, '..', '..', name))).toBe(true);
  });
});
