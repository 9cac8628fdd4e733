import { describe, expect, it } from 'vitest';
import { documentOf, parseMachineConfig } from './parse.ts';

const MACHINE = 'machine:\n  type: worker\n';

/** What is wrong with a text. */
function fault(text: string): string | undefined {
  try {
    parseMachineConfig(text, 'w');
  } catch (error) {
    const { kind, message } = error as { kind: string; message: string };
    return `${kind}: ${message}`;
  }
  return undefined;
}

describe('the documents of a configuration', () => {
  it('are found by kind, each where it begins', () => {
    const config = parseMachineConfig(
      `# head\nkind: A\n---\n${MACHINE}other:\n  x: y\n---\n# c\nkind: B\nname: b\n`,
      'w',
    );

    expect(config.documents.map(({ kind, start }) => [kind, start])).toEqual([
      ['A', 7],
      ['v1alpha1', 15],
      ['B', 57],
    ]);
    for (const at of [15, 57]) expect(config.text.slice(at, at + 4)).toBe('---\n');
    expect(config.legacy).toBe(documentOf(config, 'v1alpha1'));
    expect(documentOf(config, 'C')).toBeUndefined();
    expect({ where: config.where, eol: config.eol }).toEqual({ where: 'w', eol: '\n' });
  });

  it('may be empty, or nothing', () => {
    expect(parseMachineConfig(`---\n---\nnull\n---\n~\n---\n${MACHINE}---\n# tail\n`).documents).toHaveLength(1);
  });

  it.each([
    [`${MACHINE}---\n\n- a\n`, 'w, line 5: expected a document of fields, found a list or a single value'],
    [`${MACHINE}---\nkind\n`, 'w, line 4: expected a document of fields, found a list or a single value'],
    ['kind: A\n', 'w: has no v1alpha1 document (machine: and cluster:); expected a whole Talos machine configuration'],
    ['', 'w: has no v1alpha1 document (machine: and cluster:); expected a whole Talos machine configuration'],
  ])('are fields, one of them the old one: %j', (text, message) => {
    expect(fault(text)).toBe(`not-a-machine-configuration: ${message}`);
  });

  it('are there once by kind and name', () => {
    const one = (name: string) => `---\nkind: A\n${name}`;

    expect(fault(`${MACHINE}${one('name: a\n')}${one('name: b\n')}${one('')}`)).toBeUndefined();
    expect(fault(`${MACHINE}${one('name: 1.0\n')}${one('name: 1\n')}`)).toBeUndefined();
    expect(fault(`${MACHINE}${one('')}${one('')}`)).toBe(
      'duplicate-document: w, line 6: a second A document; the first is at line 4',
    );
    expect(fault(`${MACHINE}${one('name: a\n')}${one('name: a\n')}`)).toBe(
      'duplicate-document: w, line 7: a second A a document; the first is at line 4',
    );
    expect(fault(`${MACHINE}---\napiVersion: v1alpha1\n`)).toBe(
      'duplicate-document: w, line 4: a second v1alpha1 document; the first is at line 1',
    );
  });
});

describe('keys of a configuration', () => {
  it.each([
    [`${MACHINE}x: 1\nmachine: {}\n`, 'duplicate-key: w, line 4, machine: the key is there twice'],
    [`${MACHINE}x: 1\nx: 2\n`, 'duplicate-key: w, line 4, x: the key is there twice'],
    [`${MACHINE}  a: 1\n  a: 2\n`, 'duplicate-key: w, line 4, machine.a: the key is there twice'],
    [
      `${MACHINE}<<: {}\n`,
      'indirect-value: w, line 3, <<: a merge key can bring in certificates and keys from elsewhere; write the fields out',
    ],
    [
      `${MACHINE}  <<: {}\n`,
      'indirect-value: w, line 3, machine.<<: a merge key can bring in certificates and keys from elsewhere; write the fields out',
    ],
  ])('that are there twice, or elsewhere, are refused: %j', (text, message) => {
    expect(fault(text)).toBe(message);
  });

  it.each([
    `${MACHINE}---\nkind: A\nx: 1\n---\nkind: B\nx: 1\n`,
    `${MACHINE}  x: 1\ncluster:\n  x: 1\n`,
    `${MACHINE}other:\n  a: 1\n  a: 2\n  <<: {}\n`,
  ])('may have one name in two places: %j', (text) => {
    expect(fault(text)).toBeUndefined();
  });
});

describe('a text that is no YAML', () => {
  it.each([
    ['cluster: {\n', 'line 4: Flow map in block collection must be sufficiently indented and end with a }'],
    ['  ca: "a" b\n', 'line 3: Unexpected scalar at node end'],
    ['other: [a,\ncluster: {}\n', 'line 4: Unexpected flow-error-end at node end'],
  ])('is refused with the words of the reader: %j', (text, message) => {
    expect(fault(`${MACHINE}${text}`)).toBe(`not-yaml: w, ${message}`);
  });
});

describe('aliases of a document', () => {
  it('may stand for 200000 words and no more, read or not', () => {
    // 312 words with their commas and brackets are 625.
    const bomb = (aliases: number) =>
      `a: &a [${Array(312).fill('x').join()}]\nb: [${Array(aliases).fill('*a').join()}]\n`;

    expect(fault(`${MACHINE}${bomb(320)}`)).toBeUndefined();
    expect(fault(`${MACHINE}${bomb(321)}`)).toBe(
      'aliases: w, line 4: its aliases stand for more than 200000 words; Talos refuses such a document too',
    );
  });
});

describe('what is left out of reading', () => {
  const skipped = (written: string) => fault(`${MACHINE}other: ${written}\ncluster: {}\n`);

  it.each(["''", "'a'", "'it''s'", "''''", "'it'''", '""', '"a"', '"\\""', '"a\\\\"', '"\\\\\\""', '"a\\\\b"'])(
    'may be the quoted word %s',
    (word) => {
      expect(skipped(word)).toBeUndefined();
    },
  );

  it.each(["'", "'a", "'it''", "'''", "'a''''", '"', '"a', '"\\"', '"a\\"', '"a\\\\\\"'])(
    'may not end in the open quote %s',
    (word) => {
      const message = 'not-yaml: w, line 3: the quote that begins here never ends';

      expect(fault(`${MACHINE}other: ${word}\n`)).toBe(message);
      expect(fault(`${MACHINE}other: ${word}`)).toBe(message);
      expect(fault(`${MACHINE}other: ${word}\ncluster: {}\n`)).toBe(message);
    },
  );

  it('does not move the lines of what is read', () => {
    const left = '  files:\n    - a\n\n    # b\n    - c\n';

    expect(fault(`${MACHINE}${left}  ca: {\ncluster: {}\n`)).toMatch(/^not-yaml: w, line (?:8|9): /);
    expect(fault(`${MACHINE}${left}  ca: *a\n`)).toBeUndefined();
    expect(fault(`${MACHINE}${left}cluster: {}\ncluster: {}\n`)).toBe(
      'duplicate-key: w, line 9, cluster: the key is there twice',
    );
  });

  it('may be nested a hundred levels deep and no more, read or not', () => {
    const brackets = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const tooDeep = 'nesting: w, line 3: is nested more than 100 levels deep';

    expect(skipped(brackets(100))).toBeUndefined();
    expect(skipped(brackets(101))).toBe(tooDeep);
    expect(fault(`${MACHINE}config: ${brackets(110)}\n`)).toBe(tooDeep);
  });

  it('is read no further than brackets in blocks allow', () => {
    const levels = (depth: number) =>
      Array.from({ length: depth }, (_, level) => `${' '.repeat(level + 1)}a:\n`).join('');

    expect(fault(`${MACHINE}config:\n${levels(97)}`)).toBeUndefined();
    expect(fault(`${MACHINE}config:\n${levels(98)}`)).toBeUndefined();
    expect(fault(`${MACHINE}config:\n${levels(99)}`)).toBe('nesting: w, line 102: is nested more than 100 levels deep');
  });
});
