import { describe, expect, it } from 'vitest';
import { fieldLines, flow, isSafePlain, itemLines, literalContent, plainOrQuoted } from './emit.ts';

describe('a plain scalar', () => {
  it.each([
    ...['a', 'abc', 'A1', 'LS0tLS1CRUdJTg==', 'a+/=_.-b', '/path', '1kg', 'x1', 'yesterday', 'untrue', 'nullify'],
    ...['https://10.0.0.9:6443', 'https://host', 'https://h:1/p_q', '9007199254740993g'],
  ])('"%s" means that very text to every reader', (text) => {
    expect(isSafePlain(text)).toBe(true);
    expect(plainOrQuoted(text)).toBe(text);
  });

  it.each([
    ...[
      '',
      ' a',
      'a ',
      'a b',
      '-a',
      '=a',
      '.a',
      '_a',
      'a:',
      'a:b',
      'a: b',
      'a #b',
      'a,b',
      '[a',
      'a]',
      '{a',
      '&a',
      '*a',
      '!a',
    ],
    ...['true', 'False', 'YES', 'no', 'On', 'off', 'y', 'N', 'null', 'Null', 'nan', 'Inf', '~'],
    ...[
      '1',
      '-1',
      '+1',
      '1_000',
      '1.5',
      '1e5',
      '1E5',
      '0x1F',
      '0o17',
      '0b1',
      '2026-11-30',
      '2026-11-30T00',
      '10.0.0.1',
    ],
    ...['https://', 'https://host:', 'https://h?x', '://host', 'https:host', 'a\nb'],
  ])('"%s" is quoted', (text) => {
    expect(isSafePlain(text)).toBe(false);
    expect(plainOrQuoted(text)).toBe(JSON.stringify(text));
  });
});

describe('a value', () => {
  const value = { crt: 'x', list: ['a', { b: 'c' }], none: [], fields: {}, text: 'p\nq\n' };

  it('is written as lines', () => {
    expect(fieldLines('new', value, { indent: 2, step: 3 })).toEqual([
      '  new:',
      '     crt: x',
      '     list:',
      '        - a',
      '        - b: c',
      '     none: []',
      '     fields: {}',
      '     text: |',
      '        p',
      '        q',
    ]);
    expect(itemLines(value, { indent: 2, step: 4 })).toEqual([
      '  - crt: x',
      '    list:',
      '        - a',
      '        - b: c',
      '    none: []',
      '    fields: {}',
      '    text: |',
      '        p',
      '        q',
    ]);
    expect(itemLines(['a', 'b'], { indent: 0, step: 2 })).toEqual(['- - a', '  - b']);
  });

  it('is written in brackets', () => {
    expect(flow(value)).toBe('{"crt": "x", "list": ["a", {"b": "c"}], "none": [], "fields": {}, "text": "p\\nq\\n"}');
  });

  it.each([
    ['a\nb\n', ['k: |', '  a', '  b']],
    ['a\n\nb\n', ['k: |', '  a', '', '  b']],
    ['a\n', ['k: |', '  a']],
    ['a\nb', ['k: "a\\nb"']],
    ['a\nb\n\n', ['k: "a\\nb\\n\\n"']],
    [' a\nb\n', ['k: " a\\nb\\n"']],
    ['\na\n', ['k: "\\na\\n"']],
    ['\n', ['k: "\\n"']],
  ])('of several lines is a block where a block says it: %j', (text, lines) => {
    expect(fieldLines('k', text, { indent: 0, step: 2 })).toEqual(lines);
  });

  it('in a block keeps empty lines empty, and loses no more than its last line end', () => {
    expect(literalContent('a\n\n  b\n', 3)).toEqual(['   a', '', '     b']);
    expect(literalContent('a\n\n', 1)).toEqual([' a', '']);
    expect(literalContent('a', 2)).toEqual(['  a']);
  });
});
