import { describe, expect, it } from 'vitest';
import { isMap, type ParsedNode, parseDocument, type YAMLMap } from 'yaml';
import { contentEnd, createFieldReader, isNull, pairOf, scalarOf } from './nodes.ts';

/** The fields of a text, read as configurations are. */
function fieldsOf(text: string): YAMLMap {
  const { contents } = parseDocument(text, { schema: 'failsafe', uniqueKeys: false, keepSourceTokens: true });
  if (!isMap(contents)) throw new Error('expected fields');
  return contents;
}

const node = (text: string, key = 'a') => pairOf(fieldsOf(text), key)?.value ?? null;

describe('a field', () => {
  it.each(['a:', 'a: ~', 'a: null', 'a: Null', 'a: NULL', 'a: # nothing'])('"%s" is nothing', (text) => {
    expect(isNull(node(text))).toBe(true);
    expect(scalarOf(fieldsOf(text), 'a')).toBeUndefined();
  });

  it.each([
    ['a: nULL', 'nULL'],
    ['a: nullify', 'nullify'],
    ['a: not null', 'not null'],
    ['a: "null"', 'null'],
    ["a: '~'", '~'],
    ['a: ""', ''],
    ['a: |\n  null\n', 'null\n'],
    ['a: 0x10', '0x10'],
  ])('%j is text', (text, expected) => {
    expect(isNull(node(text))).toBe(false);
    expect(scalarOf(fieldsOf(text), 'a')).toBe(expected);
  });

  it('that holds fields, or a list, or is not there, is no text', () => {
    expect(scalarOf(fieldsOf('a: {b: c}'), 'a')).toBeUndefined();
    expect(scalarOf(fieldsOf('a: [b]'), 'a')).toBeUndefined();
    expect(scalarOf(fieldsOf('b: c'), 'a')).toBeUndefined();
    expect(isNull(node('a: {}'))).toBe(false);
    expect(isNull(null)).toBe(true);
  });

  it('is found by its name alone, and not among keys that are no words', () => {
    expect(pairOf(fieldsOf('? [a]\n: 1\nb: 2'), 'a')).toBeUndefined();
    expect(scalarOf(fieldsOf('? [x]\n: 1\na: 2'), 'a')).toBe('2');
  });
});

describe('reading a field', () => {
  const read = (text: string, how: 'map' | 'list' | 'scalar') => {
    const reader = createFieldReader({ text, where: 'cp-1', eol: '\n' });
    try {
      return reader[how](fieldsOf(text), 'a', 'x.a') === undefined ? 'nothing' : 'read';
    } catch (error) {
      const { kind, message } = error as { kind: string; message: string };
      return `${kind}: ${message}`;
    }
  };

  it.each([
    ['map', 'a: {}'],
    ['map', 'a:\n  b: c'],
    ['list', 'a: []'],
    ['list', 'a:\n- b'],
    ['scalar', 'a: b'],
    ['scalar', 'a: ""'],
    ['scalar', 'a: !!str b'],
    ['map', 'a: !!map {}'],
    ['list', 'a: !!seq []'],
  ] as const)('takes a %s: %j', (how, text) => {
    expect(read(text, how)).toBe('read');
  });

  it.each(['map', 'list', 'scalar'] as const)('finds nothing where there is no %s', (how) => {
    expect(read('b: c', how)).toBe('nothing');
    expect(read('a:', how)).toBe('nothing');
    expect(read('a: ~', how)).toBe('nothing');
  });

  it.each([
    ['map', 'b: 1\na: [c]', 'bad-value: cp-1, line 2, x.a: expected fields'],
    ['map', 'a: c', 'bad-value: cp-1, line 1, x.a: expected fields'],
    ['list', 'b: 1\na: {c: d}', 'bad-value: cp-1, line 2, x.a: expected a list'],
    ['list', 'a: ""', 'bad-value: cp-1, line 1, x.a: expected a list'],
    ['scalar', 'b: 1\na: {c: d}', 'bad-value: cp-1, line 2, x.a: expected a single value'],
    ['scalar', 'b: 1\na: b\na: c', 'duplicate-key: cp-1, line 3, x.a: the key is there twice'],
    [
      'scalar',
      'b: &b c\na: *b',
      'indirect-value: cp-1, line 2, x.a: the value is a YAML alias, so an edit would reach elsewhere; write it out',
    ],
    [
      'map',
      'b: 1\na: &b {}',
      'indirect-value: cp-1, line 2, x.a: the value has the YAML anchor &b; write it out where it is used',
    ],
    ['list', 'b: 1\na: !x []', 'indirect-value: cp-1, line 2, x.a: the value has the YAML tag !x; expected plain text'],
    [
      'scalar',
      'b: 1\n<<: {}',
      'indirect-value: cp-1, line 2, x.a: a merge key (<<) may bring in this field; write the fields out',
    ],
  ] as const)('refuses what is no %s, or comes from elsewhere: %j', (how, text, message) => {
    expect(read(text, how)).toBe(message);
  });
});

describe('a node that is no field', () => {
  const fault = (text: string, how: 'asMap' | 'asScalar') => {
    try {
      createFieldReader({ text, where: 'cp-1', eol: '\n' })[how](node(text), 'x[0]');
    } catch (error) {
      return String((error as Error).message);
    }
    return undefined;
  };

  it.each([
    ['asMap', 'a: {b: c}', undefined],
    ['asMap', 'b: 1\na: c', 'cp-1, line 2, x[0]: expected fields'],
    ['asMap', 'b: 1', 'cp-1, line 1, x[0]: expected fields'],
    ['asMap', 'a: &c {}', 'cp-1, line 1, x[0]: the value has the YAML anchor &c; write it out where it is used'],
    ['asScalar', 'a: b', undefined],
    ['asScalar', 'a: []', 'cp-1, line 1, x[0]: expected a single value'],
    [
      'asScalar',
      'b: &b c\na: *b',
      'cp-1, line 2, x[0]: the value is a YAML alias, so an edit would reach elsewhere; write it out',
    ],
  ] as const)('is refused like one: %s of %j', (how, text, message) => {
    expect(fault(text, how)).toBe(message);
  });
});

describe('the end of what a field holds', () => {
  const content = (text: string) => {
    const value = node(text) as ParsedNode;
    return text.slice(value.range[0], contentEnd(text, value));
  };

  it.each([
    ['a: b # kept\nz: 1\n', 'b'],
    ['a: "b" # kept\nz: 1\n', '"b"'],
    ['a: [b,\n  c] # kept\n\nz: 1\n', '[b,\n  c]'],
    ['a: {b: c} # kept\nz: 1\n', '{b: c}'],
    ['a: |\n  b\n\n\nz: 1\n', '|\n  b'],
    ['a: >-\n  b\n\n\nz: 1\n', '>-\n  b'],
    ['a: |+\n  b\n\nz: 1\n', '|+\n  b\n'],
    ['a: |2+\n  b\n\nz: 1\n', '|2+\n  b\n'],
    ['a: |+\r\n  b\r\n\r\nz: 1\r\n', '|+\r\n  b\r\n'],
    ['a:\n  b: c\n\n  # yours\nz: 1\n', 'b: c'],
    ['a:\n  b:\n    c: d\n    e: f # kept\n\nz: 1\n', 'b:\n    c: d\n    e: f'],
    ['a:\n  b: c\n  d:\n\nz: 1\n', 'b: c\n  d:'],
    ['a:\n  b: c\n  d: ~\n\nz: 1\n', 'b: c\n  d: ~'],
    ['a:\n  - b\n  - c\n\n# yours\nz: 1\n', '- b\n  - c'],
    ['a:\n  - b: |\n      c\n\nz: 1\n', '- b: |\n      c'],
    ['a:\n  - [b]\n\nz: 1\n', '- [b]'],
    ['a:\n  - b\n  -\n\nz: 1\n', '- b\n  -'],
    ['a:\n  ? b\n\nz: 1\n', '? b'],
    ['a:\n  b: c\n  d: # kept\n\nz: 1\n', 'b: c\n  d: '],
    ['a: |\n  b |+\n\n\nz: 1\n', '|\n  b |+'],
    ['a: |+\n  b', '|+\n  b'],
    ['a: "b |+\n\n  c"\nz: 1\n', '"b |+\n\n  c"'],
  ])('of %j', (text, expected) => {
    expect(content(text)).toBe(expected);
  });
});
