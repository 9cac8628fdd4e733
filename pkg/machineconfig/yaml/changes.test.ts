import { describe, expect, it } from 'vitest';
import { isMap, isSeq, type ParsedNode, parseDocument, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { type Changes, changesOf } from './change.ts';
import { applyEdits, type Edit } from './edits.ts';
import type { Value } from './emit.ts';

/** What a change makes of a whole text. */
function changedWhole(text: string, change: (changes: Changes, root: YAMLMap) => Edit[]): string {
  const root = parseDocument(text, { keepSourceTokens: true }).contents;
  if (!isMap(root)) throw new Error('the text holds fields');
  return applyEdits(text, change(changesOf({ text, eol: '\n', where: undefined }), root));
}

/** What a change makes of the lines below `machine`. */
function changed(lines: string, change: (changes: Changes, machine: YAMLMap) => Edit[]): string {
  const text = `machine:\n${lines}`;
  const machine = parseDocument(text, { keepSourceTokens: true }).get('machine');
  if (!isMap(machine)) throw new Error('machine holds fields');
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return applyEdits(text, change(changesOf({ text, eol, where: undefined }), machine)).slice('machine:\n'.length);
}

function node(map: YAMLMap, key: string): ParsedNode {
  return map.get(key, true) as unknown as ParsedNode;
}

function list(map: YAMLMap, key: string): YAMLSeq {
  const found = node(map, key);
  if (!isSeq(found)) throw new Error(`${key} is a list`);
  return found;
}

describe('another text in a scalar', () => {
  const set = (lines: string, text: string) =>
    changed(lines, (changes, machine) => changes.setScalar(node(machine, 'ca') as Scalar.Parsed, text));

  it.each([
    ['a plain one', '  ca: abc # kept\n', 'def', '  ca: def # kept\n'],
    ['a plain one that would be a number', '  ca: abc\n', '1_000', '  ca: "1_000"\n'],
    ['a plain one that would be a truth', '  ca: abc\n', 'Yes', '  ca: "Yes"\n'],
    ['a plain one that would be nothing', '  ca: abc\n', 'null', '  ca: "null"\n'],
    ['a plain one with an address', '  ca: abc\n', 'https://10.0.0.9:6443', '  ca: https://10.0.0.9:6443\n'],
    ['a plain one with a colon at its end', '  ca: abc\n', 'https://host:', '  ca: "https://host:"\n'],
    ['single quotes', "  ca: 'abc' # kept\n", 'def', "  ca: 'def' # kept\n"],
    ['single quotes, where they would end it', "  ca: 'abc'\n", "d'ef", '  ca: "d\'ef"\n'],
    ['single quotes, over lines', "  ca: 'abc'\n", 'd\nef\n', '  ca: "d\\nef\\n"\n'],
    ['double quotes', '  ca: "abc"\n', 'def', '  ca: "def"\n'],
    ['a block', '  ca: | # kept\n    a\n    b\n  z: 1\n', 'c\nd\n', '  ca: | # kept\n    c\n    d\n  z: 1\n'],
    ['a block with its own indent', '  ca: |2\n     a\n  z: 1\n', 'c\n', '  ca: |2\n     c\n  z: 1\n'],
    ['a block that drops its newline', '  ca: |-\n    a\n  z: 1\n', 'c\nd\n', '  ca: |\n    c\n    d\n  z: 1\n'],
    ['a folded block', '  ca: >\n    a\n  z: 1\n', 'c\n\nd\n', '  ca: |\n    c\n\n    d\n  z: 1\n'],
    ['a block at an end without a newline', '  ca: |\n    a', 'c\n', '  ca: |\n    c\n'],
    ['a block at an end without a newline, for a text without one', '  ca: |\n    a', 'c', '  ca: |\n    c'],
    ['a block that begins with an empty line', '  ca: |\n\n    a\n  z: 1\n', 'c\n', '  ca: |\n    c\n  z: 1\n'],
    ['a block that keeps its newlines', '  ca: |2+ # kept\n    a\n  z: 1\n', 'c\n', '  ca: |2 # kept\n    c\n  z: 1\n'],
    ['an empty block', '  ca: | # kept\n  z: 1\n', 'c\nd\n', '  ca: "c\\nd\\n" # kept\n  z: 1\n'],
    ['an empty block with all marks', '  ca: >2-\n\n  z: 1\n', 'c', '  ca: "c"\n\n  z: 1\n'],
    ['a block below an empty line of blanks', '  ca: |\n   \n    a\n  z: 1\n', 'c\n', '  ca: |\n    c\n  z: 1\n'],
    ['a block, its indent last', '  ca: |-2 # |4\n     a\n  z: 1\n', 'c\n', '  ca: |2 # |4\n     c\n  z: 1\n'],
    ['a plain one, with a word that only begins like a truth', '  ca: abc\n', 'yesterday', '  ca: yesterday\n'],
    ['a plain one, with a word that only ends like one', '  ca: abc\n', 'untrue', '  ca: untrue\n'],
    ['a plain one, with what only begins like a number', '  ca: abc\n', '1kg', '  ca: 1kg\n'],
    ['a plain one that would begin otherwise', '  ca: abc\n', '-abc', '  ca: "-abc"\n'],
    ['a block with CRLF', '  ca: |\r\n    a\r\n  z: 1\r\n', 'c\nd\n', '  ca: |\r\n    c\r\n    d\r\n  z: 1\r\n'],
  ])('keeps the style of %s', (_what, lines, text, expected) => {
    expect(set(lines, text)).toBe(expected);
  });
});

describe('another field', () => {
  const add = (lines: string, value: Value, after = 'ca') =>
    changed(lines, (changes, machine) => changes.addField(machine, after, 'new', value));

  it.each<[string, string, Value, string]>([
    ['behind its neighbour', '  ca: a\n  z: 1\n', 'x', '  ca: a\n  new: x\n  z: 1\n'],
    [
      'behind what its neighbour holds',
      '  ca:\n      b: c\n  z: 1\n',
      ['x'],
      '  ca:\n      b: c\n  new:\n      - x\n  z: 1\n',
    ],
    ['behind a neighbour without a value', '  ca:\n  z: 1\n', 'x', '  ca:\n  new: x\n  z: 1\n'],
    ['behind a block of text', '  ca: |\n    b\n\n  z: 1\n', 'x', '  ca: |\n    b\n  new: x\n\n  z: 1\n'],
    ['at the end, where there is no such neighbour', '  z: 1\n  y: 2\n', 'x', '  z: 1\n  y: 2\n  new: x\n'],
    ['at an end without a newline', '  ca: a', 'x', '  ca: a\n  new: x'],
    ['with CRLF', '  ca: a\r\n', 'x', '  ca: a\r\n  new: x\r\n'],
    ['as an empty list', '  ca: a\n', [], '  ca: a\n  new: []\n'],
    ['as a block of text', '  ca: a\n', 'x\ny\n', '  ca: a\n  new: |\n    x\n    y\n'],
    ['in quotes, where a block would end it with a newline', '  ca: a\n', 'x\nk', '  ca: a\n  new: "x\\nk"\n'],
    ['as empty fields', '  ca: a\n', {}, '  ca: a\n  new: {}\n'],
    ['in quotes, where a block would not say it', '  ca: a\n', ' x\ny\n', '  ca: a\n  new: " x\\ny\\n"\n'],
    ['as fields in items', '  ca: a\n', [{ crt: 'x', key: 'k' }], '  ca: a\n  new:\n    - crt: x\n      key: k\n'],
  ])('comes %s', (_where, lines, value, expected) => {
    expect(add(lines, value)).toBe(expected);
  });

  it('comes with the step of the fields beside it, or else with four blanks', () => {
    const addWhole = (text: string) =>
      changedWhole(text, (changes, root) => changes.addField(root, 'ca', 'new', { l: ['x'] }));

    expect(addWhole('ca: a\n')).toBe('ca: a\nnew:\n    l:\n        - x\n');
    expect(addWhole('ca: a\nz:\n y: 1\n')).toBe('ca: a\nnew:\n l:\n  - x\nz:\n y: 1\n');
    expect(addWhole('ca: a\nz: {y: 1}\n')).toBe('ca: a\nnew:\n    l:\n        - x\nz: {y: 1}\n');
  });

  it('comes into brackets behind its neighbour, at the end, or alone', () => {
    const inBrackets = (lines: string) =>
      changed(lines, (changes, machine) => changes.addField(node(machine, 'm') as YAMLMap, 'ca', 'new', ['x']));

    expect(inBrackets('  m: {ca: 1, z: 2} # kept\n')).toBe('  m: {ca: 1, "new": ["x"], z: 2} # kept\n');
    expect(inBrackets('  m: { z: 2 }\n')).toBe('  m: { z: 2, "new": ["x"] }\n');
    expect(inBrackets('  m: {}\n')).toBe('  m: {"new": ["x"]}\n');
    expect(inBrackets('  m: {ca, z: 2}\n')).toBe('  m: {ca, "new": ["x"], z: 2}\n');
  });
});

describe('a field that goes', () => {
  const remove = (lines: string, key = 'ca') => changed(lines, (changes, machine) => changes.removeField(machine, key));

  it.each([
    ['with its line', '  a: 1\n  ca: x # gone\n  z: 1\n', '  a: 1\n  z: 1\n'],
    ['with what it holds', '  ca:\n    crt: x\n    key: |\n      y\n  z: 1\n', '  z: 1\n'],
    ['without a value', '  a: 1\n  ca:\n  z: 1\n', '  a: 1\n  z: 1\n'],
    ['with its list in brackets', '  a: 1\n  ca: [x,\n    y]\n  z: 1\n', '  a: 1\n  z: 1\n'],
    [
      'and leaves comments of others between its items',
      '  ca:\n    # mine\n    - x\n    # yours\n    - y\n  z: 1\n',
      '    # mine\n    # yours\n  z: 1\n',
    ],
    ['at an end without a newline', '  a: 1\n  ca: x', '  a: 1'],
    ['at an end without a newline, with CRLF', '  a: 1\r\n  ca: x', '  a: 1'],
    ['before an end without a newline', '  ca: x\n  z: 1', '  z: 1'],
    ['at the end', '  a: 1\n  ca: x\n', '  a: 1\n'],
    ['that is not there', '  a: 1\n', '  a: 1\n'],
  ])('goes %s', (_how, lines, expected) => {
    expect(remove(lines)).toBe(expected);
  });

  it('may be all that there is', () => {
    const removeWhole = (text: string) => changedWhole(text, (changes, root) => changes.removeField(root, 'ca'));

    expect(removeWhole('ca: x')).toBe('');
    expect(removeWhole('ca:\n- x\n- y')).toBe('');
    expect(removeWhole('ca:\n- x\n- y\nz: 1')).toBe('z: 1');
  });

  it('goes out of brackets with one comma', () => {
    const inBrackets = (lines: string) =>
      changed(lines, (changes, machine) => changes.removeField(node(machine, 'm') as YAMLMap, 'ca'));

    expect(inBrackets('  m: {ca: 1, z: 2}\n')).toBe('  m: {z: 2}\n');
    expect(inBrackets('  m: {a: 1, ca: 2, z: 3}\n')).toBe('  m: {a: 1, z: 3}\n');
    expect(inBrackets('  m: {a: 1, ca: 2}\n')).toBe('  m: {a: 1}\n');
    expect(inBrackets('  m: { ca: 2 }\n')).toBe('  m: {  }\n');
  });
});

describe('items of a list', () => {
  const items = (lines: string, change: (changes: Changes, at: YAMLSeq) => Edit[]) =>
    changed(lines, (changes, machine) => change(changes, list(machine, 'l')));
  const add = (lines: string, at: number, ...values: Value[]) =>
    items(lines, (changes, of) => changes.addItems(of, at, values));
  const remove = (lines: string, ...positions: number[]) =>
    items(lines, (changes, of) => changes.removeItems(of, new Set(positions)));
  const block = '  l:\n    - a\n    # yours\n    - b\n    - c # kept\n  z: 1\n';

  it('come before another, in the middle and at the end', () => {
    expect(add(block, 0, 'x')).toBe('  l:\n    - x\n    - a\n    # yours\n    - b\n    - c # kept\n  z: 1\n');
    expect(add(block, 2, 'x', 'k')).toBe(
      '  l:\n    - a\n    # yours\n    - b\n    - x\n    - k\n    - c # kept\n  z: 1\n',
    );
    expect(add(block, 3, { crt: 'x' })).toBe(
      '  l:\n    - a\n    # yours\n    - b\n    - c # kept\n    - crt: x\n  z: 1\n',
    );
    expect(add(block, 3)).toBe(block);
    expect(add('  l:\n    - a\n', 1, 'x\nk\n', [], {})).toBe(
      '  l:\n    - a\n    - |\n      x\n      k\n    - []\n    - {}\n',
    );
    expect(add('  l:\n  - a', 1, 'x')).toBe('  l:\n  - a\n  - x');
    expect(add('  l:\n  -\n  -\n', 2, 'x')).toBe('  l:\n  -\n  -\n  - x\n');
    expect(add('  l:\n  -\n    a: b\n', 1, 'x')).toBe('  l:\n  -\n    a: b\n  - x\n');
    expect(add('  l:\n  -\n    a: b\n', 0, 'x')).toBe('  l:\n  - x\n  -\n    a: b\n');
  });

  it('come with the step of the fields in other items, or else with four blanks', () => {
    const value = { p: { q: 'x' } };

    expect(add('  l:\n    - a\n', 1, value)).toBe('  l:\n    - a\n    - p:\n          q: x\n');
    expect(add('  l:\n    - a\n    - b:\n         c: 1\n', 2, value)).toBe(
      '  l:\n    - a\n    - b:\n         c: 1\n    - p:\n         q: x\n',
    );
  });

  it('come into brackets', () => {
    expect(add('  l: [a, b]\n', 0, 'x')).toBe('  l: ["x", a, b]\n');
    expect(add('  l: [a, b]\n', 1, 'x')).toBe('  l: [a, "x", b]\n');
    expect(add('  l: [ a ]\n', 1, { crt: 'x' })).toBe('  l: [ a, {"crt": "x"} ]\n');
    expect(add('  l: [a]\n', 1, { crt: 'x', key: 'k' }, ['m', 'n'])).toBe(
      '  l: [a, {"crt": "x", "key": "k"}, ["m", "n"]]\n',
    );
    expect(add('  l: []\n', 0, 'x', 'y')).toBe('  l: ["x", "y"]\n');
  });

  it('go, in whatever order they are named', () => {
    expect(remove(block, 2, 0)).toBe('  l:\n    # yours\n    - b\n  z: 1\n');
    expect(remove(block, 2, 1)).toBe('  l:\n    - a\n    # yours\n  z: 1\n');
    expect(remove('  l:\n    -\n    - b\n', 0)).toBe('  l:\n    - b\n');
    expect(remove(block, 1)).toBe('  l:\n    - a\n    # yours\n    - c # kept\n  z: 1\n');
    expect(remove('  l:\n  - a\n  - b', 1)).toBe('  l:\n  - a');
    expect(remove('  l:\n  - a\n  - b\n  - c', 1, 2)).toBe('  l:\n  - a');
    expect(remove('  l:\n  - a\n  - b\n  - c', 0, 2)).toBe('  l:\n  - b');
    expect(remove(block)).toBe(block);
    expect(remove('  l: [a, b]\n')).toBe('  l: [a, b]\n');
    expect(remove('  l:\n    - a\n    - ~ # gone\n    - b\n', 1)).toBe('  l:\n    - a\n    - b\n');
  });

  it('go out of brackets with their commas', () => {
    expect(remove('  l: [a, b, c]\n', 0)).toBe('  l: [b, c]\n');
    expect(remove('  l: [a, b, c]\n', 2, 1)).toBe('  l: [a]\n');
    expect(remove('  l: [a, b, c]\n', 0, 2)).toBe('  l: [b]\n');
    expect(remove('  l: [ a, b ]\n', 0, 1)).toBe('  l: [  ]\n');
    expect(remove('  l: [a, b, c, d, e]\n', 0, 1, 3)).toBe('  l: [c, e]\n');
  });

  it('are replaced in their place', () => {
    const replace = (lines: string, at: number, value: Value) =>
      items(lines, (changes, of) => changes.replaceItem(of, at, value));

    expect(replace(block, 1, 'x')).toBe('  l:\n    - a\n    # yours\n    - x\n    - c # kept\n  z: 1\n');
    expect(replace('  l: [a]\n', 0, 'x')).toBe('  l: ["x"]\n');
    expect(replace('  l: [a, b]\n', 1, { x: 'y' })).toBe('  l: [a, {"x": "y"}]\n');
  });
});

describe('edits', () => {
  it('that overlap are a fault of the caller', () => {
    const edits = [
      { start: 0, end: 4, text: '' },
      { start: 3, end: 5, text: 'x' },
    ];

    expect(() => applyEdits('0123456789', edits)).toThrow(new RangeError('edits overlap at offset 3'));
  });

  it('at one place are applied with what is put in before what goes', () => {
    const edits = [
      { start: 1, end: 3, text: '' },
      { start: 1, end: 1, text: 'x' },
    ];

    expect(applyEdits('01234', edits)).toBe('0x34');
  });

  it('are applied in the order of the text', () => {
    const edits = [
      { start: 5, end: 5, text: 'b' },
      { start: 1, end: 2, text: 'a' },
    ];

    expect(applyEdits('01234567', edits)).toBe('0a234b567');
  });
});
