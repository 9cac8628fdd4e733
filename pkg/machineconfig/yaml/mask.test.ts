import { describe, expect, it } from 'vitest';
import { mask } from './mask.ts';

const INTEREST = { whole: new Set(['kind']), partial: { machine: new Set(['ca']) } };
const BULK = `${'#'.padEnd(1023)}\n`.repeat(256);

/** The masked text without the bulk that makes it worth masking. */
function masked(text: string): string {
  const result = mask(BULK + text, INTEREST);
  expect(result.length).toBe(BULK.length + text.length);
  return result.slice(BULK.length).replaceAll(/ {2,}\n/g, '…\n');
}

describe('masking a large text', () => {
  it('blanks the lines below keys that nobody reads, and keeps the keys', () => {
    expect(
      masked('machine:\n  ca:\n    crt: x\n  files:\n    - a: "b"\n    - c\n  end: 1\nother:\n- x: y\nkind: z\n'),
    ).toBe('machine:\n  ca:\n    crt: x\n  files:\n#…\n  end: 1\nother:\n#…\nkind: z\n');
  });

  it.each([
    ['a double quote that stays open', '  env: "foo\ncluster:\n  bar"\n  x:\n    y: 1\n'],
    ['a single quote that stays open', "  env: 'foo\ncluster:\n  bar'\n  x:\n    y: 1\n"],
    ['a bracket that stays open', '  env: [foo,\ncluster, bar]\n  x:\n    y: 1\n'],
    ['an anchor', '  env: &a\n    x: 1\n    y: 2\n'],
  ])('keeps everything from %s on', (_name, lines) => {
    expect(masked(`machine:\n${lines}`)).toBe(`machine:\n${lines}`);
  });

  it.each([
    ['closed brackets with a comment', '  files: [a, b] # kept\n'],
    ['closed braces', '  files: {a: b}\n'],
    ['a closed quote', "  files: 'a: [b'\n"],
    ['an empty value', '  files:\n'],
  ])('blanks what stands below %s', (_what, first) => {
    const below = '      deep: 1\n      # deeper\n      - "and": [2]\n';

    expect(masked(`machine:\n${first}${below}  ca: 1\nkind: z\n`)).toBe(`machine:\n${first}#…\n  ca: 1\nkind: z\n`);
  });

  it.each([
    ['a quoted key, which may be one of ours', '  "ca": x\n'],
    ['a single-quoted key', "  'files': x\n"],
    ['quotes in brackets', '  files: ["a", b]\n'],
    ['an item', '  - files: x\n'],
  ])('keeps what stands below %s', (_what, first) => {
    const text = `machine:\n${first}      deep: 1\n      deeper: 2\n  ca: 1\n`;

    expect(masked(text)).toBe(text);
  });

  it.each([
    ['an alias', '  env: *a\n    x: 1\n  ca: 1\n'],
    ['a tag', '  env: !x\n    x: 1\n  ca: 1\n'],
    ['a question mark', '  ? env\n    x: 1\n  ca: 1\n'],
    ['a brace that stays open', '  env: {a: 1,\n    x: 1\n  ca: 1\n'],
    ['a quote behind closed brackets', '  env: [a] "b\n    x: 1\n  ca: 1\n'],
  ])('is not sure of anything from %s on', (_name, lines) => {
    expect(masked(`machine:\n${lines}`)).toBe(`machine:\n${lines}`);
  });

  it('blanks empty lines between, and all to the end', () => {
    expect(masked('machine:\n  files:\n    - a\n\n    - b\n  ca: 1\n')).toBe('machine:\n  files:\n#…\n  ca: 1\n');
    expect(masked('machine:\n  files:\n    - a\n    - b\n')).toBe('machine:\n  files:\n#…\n');
  });

  it('takes a key that begins with a dash for a key', () => {
    expect(masked('machine:\n  files: a\n  -x: b\n    deep: 1\n  ca: 1\n')).toBe(
      'machine:\n  files: a\n  -x: b\n#…\n  ca: 1\n',
    );
  });

  it('blanks block texts whatever they look like inside', () => {
    expect(masked('machine:\n  files: |\n    machine:\n      ca:\n    it is\n  ca: 1\n')).toBe(
      'machine:\n  files: |\n#…\n  ca: 1\n',
    );
  });

  it('leaves a small text alone', () => {
    expect(mask('machine:\n  files:\n    - a\n', INTEREST)).toBe('machine:\n  files:\n    - a\n');
  });
});
