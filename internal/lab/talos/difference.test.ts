import { describe, expect, it } from 'vitest';
import { differenceOf } from './difference.ts';

describe('the difference of two texts', () => {
  it('of the same one is none', () => {
    expect(differenceOf('a\n', 'a\n')).toBe('No changes.');
  });

  it('shows what changed with the lines around it', () => {
    const lines = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];

    expect(differenceOf(lines.join('\n'), lines.toSpliced(4, 1, 'five', 'more').join('\n')).split('\n')).toEqual([
      '--- a',
      '+++ b',
      '@@ -2,7 +2,8 @@',
      ...[' 2', ' 3', ' 4', '-5', '+five', '+more', ' 6', ' 7', ' 8', ''],
    ]);
  });
});
