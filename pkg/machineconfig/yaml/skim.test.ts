import { describe, expect, it } from 'vitest';
import { CST } from 'yaml';
import { type SkimSink, skim } from './skim.ts';

const INTEREST = { whole: new Set(['kind', 'list']), partial: new Map([['machine', new Set(['ca', '<<'])]]) };

const MARKS: readonly string[] = [CST.DOCUMENT, CST.FLOW_END, CST.SCALAR];

/** What a reader is given: what is left to parse, with `…` for what is left out, and the keys, and where documents begin. */
function skimmed(text: string) {
  let read = '';
  let length = 0;
  const keys: string[] = [];
  const sink: SkimSink = {
    lexeme: (lexeme) => {
      // Marks of the lexer for scalars, documents and ends of brackets.
      const isMark = lexeme.length === 1 && MARKS.includes(lexeme);
      read += isMark ? '' : lexeme;
      length += isMark ? 0 : lexeme.length;
    },
    skip: (skipped) => {
      if (skipped > 0 && !read.endsWith('…')) read += '…';
      length += skipped;
    },
    key: (parent, key, offset) => {
      expect(text.slice(offset).replace(/^["']/, '')).toMatch(new RegExp(`^${key.replaceAll("'", "''")}`));
      keys.push(parent === undefined ? key : `${parent}.${key}`);
    },
    document: () => keys.push('---'),
    word: () => undefined,
  };
  skim(text, INTEREST, sink);
  expect(length).toBe(text.length);
  return { read, keys };
}

describe('skimming a document', () => {
  it('reads keys that matter whole, some of what is below others, and the rest not at all', () => {
    expect(
      skimmed('kind: x\nmachine:\n  ca:\n    crt: y\n  files:\n    - a\n  end: 1\nother:\n  ca: z\nlist:\n- a\n- b\n'),
    ).toEqual({
      read: 'kind: x\nmachine:\n  ca:\n    crt: y\n…list:\n- a\n- b\n',
      keys: ['---', 'kind', 'machine', 'machine.ca', 'machine.files', 'machine.end', 'other', 'list'],
    });
  });

  it('takes items at the indent of their key for part of it', () => {
    expect(skimmed('other:\n- machine: 1\n- kind: 2\nkind: x\n')).toEqual({
      read: '…kind: x\n',
      keys: ['---', 'other', 'kind'],
    });
    expect(skimmed('machine:\n  files:\n  - ca: 1\n  ca: 2\n').read).toBe('machine:\n…  ca: 2\n');
  });

  it('takes keys deeper than the second level for nothing of its own', () => {
    expect(skimmed('machine:\n  ca:\n    files: 1\n    ca: 2\n').keys).toEqual(['---', 'machine', 'machine.ca']);
    expect(skimmed('machine:\n    files:\n      ca: 1\n    ca: 2\n')).toEqual({
      read: 'machine:\n…    ca: 2\n',
      keys: ['---', 'machine', 'machine.files', 'machine.ca'],
    });
  });

  it('begins anew with every document', () => {
    expect(skimmed('machine:\n  ca: 1\n---\nother: 1\n---\nmachine:\n    ca: 2\n---\nkind: x\n')).toEqual({
      read: 'machine:\n  ca: 1\n---\n…---\nmachine:\n    ca: 2\n---\nkind: x\n',
      keys: ['---', 'machine', 'machine.ca', '---', 'other', '---', 'machine', 'machine.ca', '---', 'kind'],
    });
  });

  it('is not led astray by text that looks like fields', () => {
    expect(skimmed('other: |\n  machine:\n    ca: 1\nkind: x\n').keys).toEqual(['---', 'other', 'kind']);
    expect(skimmed('machine:\n  files: |\n    ca: 1\n  ca: 2\n').read).toBe('machine:\n…  ca: 2\n');
    expect(skimmed('other: "a\n kind: b"\nkind: x\n').keys).toEqual(['---', 'other', 'kind']);
    expect(skimmed('other: [a,\n kind, b]\nkind: x\n').keys).toEqual(['---', 'other', 'kind']);
    expect(skimmed('list: {a: [b,\n kind: c]}\nkind: x\n').keys).toEqual(['---', 'list', 'kind']);
  });

  it.each([
    ['"machine":\n  "ca": 1\n  "files": 2\n', ['---', 'machine', 'machine.ca', 'machine.files']],
    ["'machine':\n  'ca': 1\n  'it''s': 2\n", ['---', 'machine', 'machine.ca', "machine.it's"]],
    ['"mach\\u0069ne":\n  ca: 1\n', ['---']],
    ['? machine\n: x\n', ['---']],
  ])('knows keys in quotes, and others not: %j', (text, keys) => {
    expect(skimmed(text).keys).toEqual(keys);
  });

  it.each([
    ['"mach\\u0069ne":\n  ca: 1\n', ['---']],
    ['machine:\n     !!map\n  ca:\n     crt: 1\n     key: 2\n  files: 3\n', ['---', 'machine']],
    ['{a: 1,\nother: 2,\nmachine: {files: 3}}\n', ['---']],
    ['  machine:\n    files: 1\n  other: 2\n', ['---']],
  ])('reads all that stands where it cannot tell the key: %j', (text, keys) => {
    expect(skimmed(text)).toEqual({ read: text, keys });
  });

  it('knows no keys but the given ones, whatever objects of JavaScript have', () => {
    expect(skimmed('constructor:\n  a: 1\nkind: x\n')).toEqual({
      read: '…kind: x\n',
      keys: ['---', 'constructor', 'kind'],
    });
    expect(skimmed('other: | constructor\n  a\nkind: x\n').keys).toEqual(['---', 'other', 'kind']);
  });

  it('begins anew behind markers and directives, whatever stood before them', () => {
    expect(skimmed('machine:\n  ca: 1\n---\n  ca: 2\n  other: 3\n').keys).toEqual([
      ...['---', 'machine', 'machine.ca'],
      '---',
    ]);
    expect(skimmed('other: 1\n...\n%YAML 1.2\n# c\n\uFEFFkind: x\n')).toEqual({
      read: '…...\n%YAML 1.2\n# c\n\uFEFFkind: x\n',
      keys: ['---', 'other', '---', 'kind'],
    });
  });

  it('ends what it leaves out with the bracket that was forgotten, and with items that are none of it', () => {
    expect(skimmed('other: [a,\nkind: x\nother: y\nkind: z\n').read).toBe('…kind: x\n…kind: z\n');
    expect(skimmed('machine:\n  files: 1\n- a\nkind: x\n').read).toBe('machine:\n…- a\nkind: x\n');
  });

  it('gives blanks and comments at the end, too', () => {
    expect(skimmed('kind: x\n  ').read).toBe('kind: x\n  ');
    expect(skimmed('kind: x\n  # c').read).toBe('kind: x\n  # c');
  });

  it('leaves comments and empty lines with what stands before them', () => {
    expect(skimmed('# head\nkind: x\n\n# of other\nother:\n  # in other\n  a: 1\n\nlist: []\n').read).toBe(
      '# head\nkind: x\n\n# of other\n…list: []\n',
    );
    expect(skimmed('other:\n  a: 1\n# c\n  b: 2\nkind: x\n').read).toBe('…kind: x\n');
  });
});

describe('the words of a document', () => {
  function wordsOf(yaml: string): string[] {
    const words: string[] = [];
    skim(yaml, INTEREST, {
      lexeme: () => undefined,
      skip: () => undefined,
      key: () => undefined,
      document: () => undefined,
      word: ({ type, text, offset, indent, line, flowDepth }) =>
        words.push(`${type} ${JSON.stringify(text)} @${offset} indent ${indent} line ${line} depth ${flowDepth}`),
    });
    return words;
  }

  it('come with their place, the indent and number of their line, and the brackets around them', () => {
    expect(wordsOf('a: |\n  x\n  y\nother:\n  - [b, {c: "d"}]\n')).toEqual([
      'scalar "a" @0 indent 0 line 0 depth 0',
      'map-value-ind ":" @1 indent 0 line 0 depth 0',
      'block-scalar-header "|" @3 indent 0 line 0 depth 0',
      'scalar "  x\\n  y\\n" @5 indent 0 line 1 depth 0',
      'scalar "other" @13 indent 0 line 2 depth 0',
      'map-value-ind ":" @18 indent 0 line 2 depth 0',
      'seq-item-ind "-" @22 indent 2 line 3 depth 0',
      'flow-seq-start "[" @24 indent 2 line 3 depth 1',
      'scalar "b" @25 indent 2 line 3 depth 1',
      'comma "," @26 indent 2 line 3 depth 1',
      'flow-map-start "{" @28 indent 2 line 3 depth 2',
      'scalar "c" @29 indent 2 line 3 depth 2',
      'map-value-ind ":" @30 indent 2 line 3 depth 2',
      'double-quoted-scalar "\\"d\\"" @32 indent 2 line 3 depth 2',
      'flow-map-end "}" @35 indent 2 line 3 depth 1',
      'flow-seq-end "]" @36 indent 2 line 3 depth 0',
    ]);
  });

  it('are no markers, comments and blanks; a tab is no indent', () => {
    expect(wordsOf('\uFEFF%YAML 1.2\n---\n# c\n  \ta # d\n...\n"{"\n')).toEqual([
      'scalar "a" @22 indent 2 line 3 depth 0',
      'double-quoted-scalar "\\"{\\"" @32 indent 0 line 5 depth 0',
    ]);
  });
});
