import { describe, expect, it } from 'vitest';
import { childrenOf, dottedOid, readDer } from './der.ts';

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));

describe('reading DER', () => {
  it('gives tag, content and the whole of values in a row', () => {
    expect(readDer(bytes('0201050500'))).toEqual([
      { tag: 0x02, content: bytes('05'), whole: bytes('020105') },
      { tag: 0x05, content: bytes(''), whole: bytes('0500') },
    ]);
  });

  it('reads lengths of more than one octet', () => {
    const long = bytes(`048180${'aa'.repeat(128)}`);
    const longer = bytes(`04820100${'aa'.repeat(256)}`);

    expect(readDer(long)[0]?.content).toHaveLength(128);
    expect(readDer(longer)[0]?.content).toHaveLength(256);
  });

  it('reads the values inside a constructed one', () => {
    expect(childrenOf(readDer(bytes('3006020101020102'))[0]).map(({ content }) => content[0])).toEqual([1, 2]);
  });

  it('reads object identifiers', () => {
    expect(dottedOid(bytes('2b6570'))).toBe('1.3.101.112');
    expect(dottedOid(bytes('2a864886f70d01010b'))).toBe('1.2.840.113549.1.1.11');
    expect(dottedOid(bytes('551d25'))).toBe('2.5.29.37');
    expect(dottedOid(bytes('8837'))).toBe('2.999');
  });

  const refused: readonly (readonly [what: string, hex: string, message: string])[] = [
    ['an indefinite length', '30800201050000', 'a DER length of 0 octets at offset 0'],
    ['a length that is not minimal', '04810100', 'a DER length that is not minimal at offset 0'],
    ['a length with a leading zero', `04820080${'aa'.repeat(128)}`, 'a DER length that is not minimal at offset 0'],
    ['a length of five octets', '0485000000000100', 'a DER length of 5 octets at offset 0'],
    ['a cut value', '05000402aa', 'a DER value at offset 2 is cut off'],
    ['a cut length', '0482', 'DER ends at offset 2'],
    ['a tag alone', '04', 'DER ends at offset 1'],
    ['a tag of several octets', '05001f8101', 'a multi-octet DER tag at offset 2'],
  ];
  for (const [what, hex, message] of refused) {
    it(`refuses ${what}, by its place`, () => {
      expect(() => readDer(bytes(hex))).toThrow(new RangeError(message));
    });
  }

  it('reads a length of four octets', () => {
    const long = Buffer.concat([bytes('048401000000'), Buffer.alloc(2 ** 24)]);

    expect(readDer(long)[0]?.content).toHaveLength(2 ** 24);
  });

  it('refuses a missing value', () => {
    expect(() => childrenOf(undefined)).toThrow('a DER value is missing');
  });
});
