import type { Certificate } from '../pki/index.ts';

/** One certificate or public key of a list entry. */
export interface Block {
  /** Its fingerprint: of the certificate, or of the public key where the list holds keys. */
  readonly id: string;
  /** One PEM block, ending in a newline. */
  readonly pem: string;
  /** The certificate, where it is one. */
  readonly certificate?: Certificate;
}

/** The blocks of every entry of a list: normally one each. */
export type Entries = readonly (readonly Block[])[];

/** What a list shall hold: each old entry (emptied ones go), then what is added. */
export interface Arrangement {
  readonly entries: Entries;
  readonly added: readonly Block[];
}

/** Whether a block is among the entries. */
export function holds(entries: Entries, block: Pick<Block, 'id'>): boolean {
  return entries.some((entry) => entry.some(({ id }) => id === block.id));
}

/**
 * The list beside an issuing CA: it holds `wanted`, and not `unwanted` where one
 * is given. `wanted` takes the place of `unwanted`, so that a stage and the next
 * one touch one entry, and otherwise comes last.
 */
export function withBlock(entries: Entries, wanted: Block, unwanted: Block | undefined): Arrangement {
  let isPlaced = false;
  const hasWanted = holds(entries, wanted);
  const arranged = entries.map((entry) =>
    entry.flatMap((block) => {
      if (block.id === wanted.id) {
        const isFirst = !isPlaced;
        isPlaced = true;
        return isFirst ? [block] : [];
      }
      if (unwanted === undefined || block.id !== unwanted.id) return [block];
      if (hasWanted || isPlaced) return [];
      isPlaced = true;
      return [wanted];
    }),
  );
  return { entries: arranged, added: isPlaced ? [] : [wanted] };
}

/** The list without some blocks. */
export function withoutBlocks(entries: Entries, unwanted: readonly Block[]): Arrangement {
  const ids = new Set(unwanted.map(({ id }) => id));
  return { entries: entries.map((entry) => entry.filter(({ id }) => !ids.has(id))), added: [] };
}

/**
 * A list in which order says who issues, where no issuing CA is written: `first`
 * stands where the first of the two stood, `second`, if any, where the other one
 * did or at the end.
 */
export function inOrder(entries: Entries, first: Block, second: Block | undefined, gone?: Block): Arrangement {
  const ours = new Set([first.id, second?.id, gone?.id]);
  const waiting = second === undefined ? [first] : [first, second];
  const arranged = entries.map((entry) =>
    entry.flatMap((block) => {
      if (!ours.has(block.id)) return [block];
      const next = waiting.shift();
      if (next === undefined) return [];
      return [next.id === block.id ? block : next];
    }),
  );
  return { entries: arranged, added: waiting };
}
