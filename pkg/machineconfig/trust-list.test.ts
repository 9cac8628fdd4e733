import { describe, expect, it } from 'vitest';
import { type Block, holds, inOrder, withBlock, withoutBlocks } from './trust-list.ts';

const block = (id: string): Block => ({ id, pem: `${id}\n` });
const [older, newer, other, another] = [block('old'), block('new'), block('other'), block('another')];

/** The IDs of what a list shall hold, entry by entry, and of what is added. */
function ids({ entries, added }: ReturnType<typeof withBlock>) {
  return { entries: entries.map((entry) => entry.map(({ id }) => id)), added: added.map(({ id }) => id) };
}

describe('a list that holds one block and not another', () => {
  it.each<[string, Block[][], string[][], string[]]>([
    ['gets it at the end where neither is there', [[other], [another]], [['other'], ['another']], ['new']],
    ['is given it where it is empty', [], [], ['new']],
    ['gets it in the place of the other one', [[other], [older], [another]], [['other'], ['new'], ['another']], []],
    ['keeps it where it is, and loses the other one', [[older], [other], [newer]], [[], ['other'], ['new']], []],
    ['keeps it where it is also before the other one', [[newer], [older]], [['new'], []], []],
    ['holds it once', [[newer], [newer, other]], [['new'], ['other']], []],
    ['gets it once in the place of two', [[older], [older]], [['new'], []], []],
    ['reads several blocks of one entry', [[other, older, another]], [['other', 'new', 'another']], []],
  ])('%s', (_what, entries, expected, added) => {
    expect(ids(withBlock(entries, newer, older))).toEqual({ entries: expected, added });
  });

  it('keeps everything where nothing is unwanted', () => {
    expect(ids(withBlock([[older], [other]], newer, undefined))).toEqual({
      entries: [['old'], ['other']],
      added: ['new'],
    });
  });
});

describe('a list without some blocks', () => {
  it('keeps the others, and the emptied entries for whoever removes them', () => {
    expect(ids(withoutBlocks([[older], [other, newer], [another]], [older, newer]))).toEqual({
      entries: [[], ['other'], ['another']],
      added: [],
    });
  });
});

describe('a list whose order says who issues', () => {
  it.each<[string, Block[][], string[][], string[]]>([
    ['puts the second one at the end', [[older], [other]], [['new'], ['other']], ['old']],
    ['changes the two over', [[older], [other], [newer]], [['new'], ['other'], ['old']], []],
    ['stays as it is', [[newer], [older]], [['new'], ['old']], []],
    ['drops a third mention', [[older], [newer], [older]], [['new'], ['old'], []], []],
    ['is given both where neither is there', [[other]], [['other']], ['new', 'old']],
  ])('%s', (_what, entries, expected, added) => {
    expect(ids(inOrder(entries, newer, older))).toEqual({ entries: expected, added });
  });

  it('loses the one that goes, whose place the first one takes', () => {
    expect(ids(inOrder([[older], [other], [newer]], newer, undefined, older))).toEqual({
      entries: [['new'], ['other'], []],
      added: [],
    });
    expect(ids(inOrder([[other], [older]], newer, undefined, older))).toEqual({
      entries: [['other'], ['new']],
      added: [],
    });
  });

  it('keeps the very block that is there, with the text that somebody wrote', () => {
    const written: Block = { id: 'new', pem: 'new, as somebody wrote it\n' };

    expect(inOrder([[written]], newer, undefined, older).entries[0]?.[0]).toBe(written);
  });
});

describe('a block', () => {
  it('is among the entries wherever it stands in one', () => {
    expect(holds([[other], [another, newer]], newer)).toBe(true);
    expect(holds([[other], [another]], newer)).toBe(false);
    expect(holds([], newer)).toBe(false);
  });
});
