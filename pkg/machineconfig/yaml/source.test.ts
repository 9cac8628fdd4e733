import { describe, expect, it } from 'vitest';
import { decodeMachineConfig, lineAt, lineEnd, lineStart, placeAt, sourceText } from './source.ts';

const fault = (read: () => unknown) => {
  try {
    read();
  } catch (error) {
    const { kind, message, cause } = error as { kind: string; message: string; cause?: unknown };
    return { kind, message, hasCause: cause !== undefined };
  }
  return undefined;
};

describe('the text of a configuration', () => {
  it.each([
    ['a: 1\nb: 2\r\n', '\n'],
    ['a: 1\r\nb: 2\n', '\r\n'],
    ['\na: 1\r\n', '\n'],
    ['a: 1', '\n'],
    ['', '\n'],
  ])('%j ends its lines as its first one does', (text, eol) => {
    expect(sourceText(text, 'cp-1')).toEqual({ text, where: 'cp-1', eol });
  });

  it('may have 16 MiB and no more', () => {
    const limit = 16 * 1024 * 1024;

    expect(sourceText('#'.repeat(limit)).text).toHaveLength(limit);
    expect(fault(() => sourceText('#'.repeat(limit + 1), 'cp-1'))).toMatchObject({
      kind: 'too-large',
      message: 'cp-1: has 16777217 characters, the limit is 16777216',
    });
  });

  it.each([
    ['a: \r\n\nb: \rc', '000D'],
    ['a: \r\n\nb: c\r', '000D'],
    ['a: \r\n\nb: \0', '0000'],
    ['a: \r\n\nb: \u0008', '0008'],
    ['a: \r\n\nb: \u001f', '001F'],
    ['a: \r\n\nb: \u007f', '007F'],
    ['a: \r\n\nb: \u0085', '0085'],
    ['a: \r\n\nb: \u009f', '009F'],
    ['a: \r\n\nb: \u2028', '2028'],
    ['a: \r\n\nb: \u2029', '2029'],
  ])('%j holds what readers take differently', (text, code) => {
    expect(fault(() => sourceText(text, 'cp-1'))).toMatchObject({
      kind: 'not-yaml',
      message: `cp-1, line 3: holds the character U+${code}, which YAML readers take differently`,
    });
  });

  it('may hold any other character, whole', () => {
    expect(sourceText('a: \t\u0020\u007e\u00a0\u2027\u202a😀').eol).toBe('\n');
    expect(fault(() => sourceText('a:\n  b: \ud83d', 'cp-1'))).toMatchObject({
      kind: 'not-utf8',
      message: 'cp-1, line 2: holds half of a surrogate pair, which UTF-8 cannot carry',
    });
  });

  it('comes out of bytes with its byte order mark, and not out of others than UTF-8', () => {
    const bytes = (text: string, ...rest: number[]) => new Uint8Array([...new TextEncoder().encode(text), ...rest]);

    expect(decodeMachineConfig(bytes('\uFEFFä: 1\n'))).toBe('\uFEFFä: 1\n');
    expect(fault(() => decodeMachineConfig(bytes('a: 1\nb: ', 0xc3), 'cp-1'))).toEqual({
      kind: 'not-utf8',
      message: 'cp-1, line 2: the bytes are not UTF-8; Talos reads UTF-8 only',
      hasCause: true,
    });
  });
});

describe('places in a text', () => {
  const text = 'ab\n\ncd';

  it('count lines from one, a line end being part of its line', () => {
    expect([0, 1, 2, 3, 4, 5, 6].map((offset) => lineAt(text, offset))).toEqual([1, 1, 1, 2, 3, 3, 3]);
    expect(placeAt({ text, where: 'cp-1', eol: '\n' }, 4, 'machine.ca')).toEqual({
      where: 'cp-1',
      line: 3,
      field: 'machine.ca',
    });
  });

  it('know where their line begins and ends', () => {
    expect([0, 1, 2, 3, 4, 5, 6].map((offset) => lineStart(text, offset))).toEqual([0, 0, 0, 3, 4, 4, 4]);
    expect([0, 1, 2, 3, 4, 5, 6].map((offset) => lineEnd(text, offset))).toEqual([3, 3, 3, 4, 6, 6, 6]);
    expect([0, 1].map((offset) => lineStart('\na', offset))).toEqual([0, 1]);
  });
});
