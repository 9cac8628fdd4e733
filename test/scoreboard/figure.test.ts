import { describe, expect, it } from 'vitest';
import { holds, tableOf } from './figure.ts';

describe('a figure', () => {
  it.each([
    [{ value: 120, asked: { atLeast: 120 } }, true],
    [{ value: 119, asked: { atLeast: 120 } }, false],
    [{ value: 10, asked: { atMost: 10 } }, true],
    [{ value: 10.1, asked: { atMost: 10 } }, false],
  ])('%j holds: %s', (figure, expected) => {
    expect(holds({ name: 'mutants', unit: '', ...figure })).toBe(expected);
  });

  it('stands in a table beside what is asked, and says where it falls short', () => {
    const table = tableOf([
      { name: 'plans', value: 20_834, unit: '', asked: { atLeast: 10_000 } },
      { name: 'lab up', value: 5.1239, unit: 's', asked: { atMost: 5 } },
      { name: 'looks a second', value: 1_474, unit: '' },
    ]);

    expect(table.split('\n').slice(2)).toEqual([
      '| plans | 20,834 | at least 10,000 | yes |',
      '| lab up | 5.12 s | at most 5 | no |',
      '| looks a second | 1,474 | | |',
    ]);
  });
});
