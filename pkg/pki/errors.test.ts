import { describe, expect, it } from 'vitest';
import { PkiError } from './errors.ts';

describe('an error of this package', () => {
  it.each([
    [{}, 'no certificate'],
    [{ where: 'ca.crt' }, 'ca.crt: no certificate'],
    [{ line: 3 }, 'line 3: no certificate'],
    [{ where: 'ca.crt', line: 3 }, 'ca.crt, line 3: no certificate'],
  ])('names the place, where there is one: %j', (details, message) => {
    expect(new PkiError('invalid-certificate', 'no certificate', details).message).toBe(message);
  });

  it('keeps what it was made of, where there was anything', () => {
    const cause = new RangeError('behind it');

    expect(new PkiError('refused', 'no', { cause }).cause).toBe(cause);
    expect(new PkiError('refused', 'no')).not.toHaveProperty('cause');
  });
});
