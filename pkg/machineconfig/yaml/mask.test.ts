import { describe, expect, it } from 'vitest';
import { mask } from './mask.ts';

const INTEREST = { whole: new Set(['kind']), partial: new Map([['machine', new Set(['ca'])]]) };
const BULK = `${'#'.padEnd(1023)}\n`.repeat(256);

/** The masked text without the bulk that makes it worth masking. */
function masked(text: string): string {
  const result = mask(BULK + text, INTEREST);
  expect(result.length).toBe(BULK.length + text.length);
  return result.slice(BULK.length).replaceAll(/ {2,}\n/g, '…\n');
}

describe('masking a large text', () => {
  it.each([
    [
      'keys that nobody reads, and keeps the keys',
      'machine:\n  ca:\n    crt: x\n  files:\n    - a: "b"\n    - c\n  end: 1\nother:\n- x: y\nkind: z\n',
      'machine:\n  ca:\n    crt: x\n  files:\n#…\n  end: 1\nother:\n#…\nkind: z\n',
    ],
    ['them to the end', 'machine:\n  files:\n    - a\n    - b\n', 'machine:\n  files:\n#…\n'],
    [
      'a key, empty lines and comments at any margin among it',
      'other:\r\n  a: 1\n\n\r\n# b\n  c: 2\nkind: z\n',
      'other:\r\n#…\nkind: z\n',
    ],
    ['a key, which may be one line end', 'other:\r\n\r\nkind: z\n', 'other:\r\n#\nkind: z\n'],
    [
      'items at the indent of their key',
      'machine:\n  files:\n  - a\n  - b\n  ca: 1\n',
      'machine:\n  files:\n#…\n  ca: 1\n',
    ],
    [
      'a key that begins with a dash',
      'machine:\n  files: a\n  -x: b\n    deep: 1\n  ca: 1\n',
      'machine:\n  files: a\n  -x: b\n#…\n  ca: 1\n',
    ],
    [
      'the header of a block, whatever its text looks like',
      'machine:\n  files: |\n    machine:\n      ca:\n    it is\n  ca: 1\n',
      'machine:\n  files: |\n#…\n  ca: 1\n',
    ],
    [
      'keys of the second level, whatever its indent',
      'machine: # c\r\n    ca: 1\n    files:\n      a: 1\nmachine:\n  files:\n    b: 1\n    c: 2\n',
      'machine: # c\r\n    ca: 1\n    files:\n#…\nmachine:\n  files:\n#…\n',
    ],
    ['a key that every object of JavaScript has', 'constructor:\n  a: 1\nkind: z\n', 'constructor:\n#…\nkind: z\n'],
  ])('blanks what stands below %s', (_what, text, expected) => {
    expect(masked(text)).toBe(expected);
  });

  it.each([
    ['below a key that is read whole', 'kind:\n  x:\n    y: 1\n    z: 2\n'],
    ['below a key of the second level that is read', 'machine:\n  ca:\n    crt:\n      - a\n      - b\n'],
    ['between keys that are read', 'machine:\n  ca:\n    # one\n\n    # two\n\r\n    crt: 1\n'],
    ['below a quoted key, which may be one of ours', '"machine":\n  files:\n    a: 1\n    b: 2\n'],
    ['below a quoted key of the second level', 'machine:\n  "ca": x\n      deep: 1\n      deeper: 2\n  ca: 1\n'],
    ['below a single-quoted key of the second level', "machine:\n  'files': x\n      deep: 1\n  ca: 1\n"],
    ['below an item', 'machine:\n  - files: x\n      deep: 1\n      deeper: 2\n  ca: 1\n'],
    ['below a letter and a blank that are no item', 'machine:\n  files: a\n  x : 1\n    b: 2\n    c: 3\n  ca: 1\n'],
    ['at what may be the second level or not', 'machine:\n     a b: 1\n  ca:\n     crt:\n       AAA\n       BBB\n'],
    ['in a text in place of fields', 'machine: |\n  files:\n    a: 1\n    b: 2\n'],
    ['that is an empty line', 'machine:\n  files:\n\n  ca: 1\n'],
    ['in brackets that began with the document', '--- {a: x,\nother:\n  b,\n  c: d\n}\n'],
    ['in brackets behind a byte order mark', '\uFEFF{a: x,\nother:\n  b,\n  c: d\n}\n'],
    ['in brackets behind a tab', 'machine: \t{a: x,\n  files:\n    b,\n    c: d\n}\n'],
    ['in a quote', 'machine:\n  env: "foo\ncluster:\n  bar"\n  x:\n    y: 1\n'],
    ['in a single quote', "machine:\n  env: 'foo\ncluster:\n  bar'\n  x:\n    y: 1\n"],
  ])('keeps what stands %s', (_where, text) => {
    expect(masked(text)).toBe(text);
  });

  const afterLine = (line: string) => masked(`machine:\n  ca:\n    ${line}\n  files:\n    b: 1\n    c: 2\n`);

  it.each([
    ...['a', 'a b', 'a:', 'a: b', 'a b: c', 'a:b "c', 'a: b "c', 'a: b: "c', "it's", '-a: [b]', '-', '---'],
    ...['a: "b"', "a: 'b'", 'a: "b \\" c"', '"a"', '"a": b', '"a" : b', "'a': [b]", "'a' :  {b: c}", '"a":{b: c}'],
    ...['"ab": c', "'ab': c", "a: 'bc'", 'a\uFEFFb'],
    ...['a: [b, c]', 'a: {b: c}', '[a]', '{a: b}', 'a: [b] # "c', 'a:  "b" \t', 'a: "b"\r', 'a\r', 'a: {b: c}\r', '\r'],
    ...['- a', '- - "a"', '-  a: [b]', '- # "a', '# "a', '# a: "b', 'a: # "b', '- |', 'a: >-', '|x', '> "a'],
  ])('goes on after %j', (line) => {
    expect(afterLine(line)).toBe(`machine:\n  ca:\n    ${line}\n  files:\n#…\n`);
  });

  it.each([
    ...['a: "b', "a: 'b", 'a: "b\\"', '"a', "'a", '"a": "b', "'a': [b", '"a" : "b', "'a' : {b", '"a" "b', '"a\\": b'],
    ...[
      'a: [b',
      'a: {b: c',
      '[a',
      '{a: b',
      'a: [b # ]',
      'a: {b # }',
      'a: [b] "c',
      'a: {b: c} d',
      'a: "b" c',
      "a: 'b' c",
    ],
    ...[
      'a: ["b"]',
      'a: {b: [c]}',
      'a: [{b: c}]',
      "'it''s': a",
      '- "a',
      '- [a, b',
      '- {a: b',
      '- - "a',
      '- a:  "b',
      '--- "a',
    ],
    ...['&a b', 'a: &b c', '- &a b: c', '*a', 'a: *b', '- *a : b', '!a b', 'a: !b c', '- !a b: c', '? a', '- ? a: b'],
    ...['a: [*b]', 'a: {b: &c d}', 'a: [!b c]', '% a: b', '@a: b', '`a: b', 'a: %b', 'a: @b', 'a: `b', 'a: ? b'],
    ...['a:\t"b', 'a: \t[b', '-\t"a', '- \t"a', '\t"a', '"a":\t"b', '- a:\t{b', '---\t"a'],
    '-  "a',
  ])('is not sure of anything from %j on', (line) => {
    expect(afterLine(line)).toBe(`machine:\n  ca:\n    ${line}\n  files:\n    b: 1\n    c: 2\n`);
  });

  it('takes the first line for one, too', () => {
    const text = `{a: x,\nother:\n  b,\n  c: d\n}\n${BULK}`;

    expect(mask(text, INTEREST)).toBe(text);
  });

  it('leaves a text of less than 256 KiB alone', () => {
    const text = (bulk: string) => `${bulk}other:\n  b: 1\n`;
    const bulk = BULK.slice('other:\n  b: 1\n'.length);

    expect(text(bulk)).toHaveLength(262_144);
    expect(mask(text(bulk), INTEREST)).toBe(`${bulk}other:\n#     \n`);
    expect(mask(text(bulk.slice(1)), INTEREST)).toBe(text(bulk.slice(1)));
  });
});
