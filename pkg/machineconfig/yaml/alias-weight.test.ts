import { describe, expect, it } from 'vitest';
import { AliasWeight } from './alias-weight.ts';
import { skim } from './skim.ts';

/** What the aliases of a text stand for. */
function weightOf(text: string): number {
  const weight = new AliasWeight();
  let total = 0;
  const sink = { lexeme: () => undefined, skip: () => undefined, key: () => undefined, document: () => undefined };
  skim(text, { whole: new Set(), partial: new Map() }, { ...sink, word: (word) => (total = weight.add(word)) });
  return total;
}

describe('the words that aliases stand for', () => {
  it.each([
    ['none, where there is no alias', 'a: &a [x, y]\nb: a\n', 0],
    ['none, where there is no anchor', 'a: *a\n', 0],
    ['one', 'a: &a x\nb: *a\n', 1],
    ['one of a key', '&a x: y\nb: *a\n', 3],
    ['brackets and commas too', 'a: &a [x, y]\nb: *a\n', 5],
    ['as often as they are written', 'a: &a [x, y]\nb: *a\nc: [*a, *a]\n', 15],
    ['those of aliases again', 'a: &a [x, y]\nb: &b [*a, *a]\nc: *b\n', 25],
    ['the latest of a name', 'a: &a x\nb: &a [x, y]\nc: *a\n', 5],
    ['fields below', 'a: &a\n  b: c\n  d: e\nf: *a\n', 6],
    ['fields below, not those behind', 'a:\n  b: &b\n    c: d\n  e: f\n  g: *b\n', 3],
    ['fields of a line far in', 'a:\n    b: &b\n      c: d\ne: *b\n', 3],
    ['items at the indent of their key', 'a: &a\n- x\n- y\n- z\nb: *a\n', 6],
    ['one item of several', '- &a x\n- *a\n- *a\n', 2],
    ['items below an item', '- &a\n  - x\n  - y\n- *a\n', 4],
    ['items of an item at its indent', 'a:\n- &a x\n- &b [x, y]\n- *a\n- *b\n', 6],
    ['fields of an item, to the end of the item', '- a: &a x\n  b: *a\n', 4],
    ['what is in brackets, to the comma', '[&a x, y, *a, *a]\n', 2],
    ['what is in brackets, to the bracket', '[[&a x], y, *a]\n', 1],
    ['brackets in brackets, whole', '[&a [x, y], *a]\n', 5],
    ['brackets over lines', 'a: &a [x,\n y,\n z]\nb: *a\n', 7],
    ['brackets that end at the margin', 'a: &a [x,\n y,\n z\n]\nb: &b {c: d\n}\ne: [*a, *b]\n', 12],
    ['a text of several lines', 'a: &a |\n  x\n  y\nb: *a\n', 2],
    ['what stands before it, inside of its own anchor', 'a: &a [x, *a]\n', 4],
    ['at most, where an inner anchor has the name of an outer one', 'a: &a [&a x, *a]\nb: *a\n', 16],
    ['at most, where an older anchor is smaller', '- &a x\n- b: &a [x, y]\n  c: *a\n', 8],
  ])('are %s', (_what, text, words) => {
    expect(weightOf(text)).toBe(words);
  });

  it('are counted in one go, however many anchors are open', () => {
    expect(weightOf(`a: ${'&a '.repeat(20_000)}[${'x, *b, '.repeat(5_000)}x]\nb: *a\n`)).toBe(40_002);
  });
});
