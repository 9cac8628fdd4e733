import type { Word } from './skim.ts';

interface OpenAnchor {
  readonly name: string;
  readonly startsAt: number;
  readonly indent: number;
  readonly line: number;
  readonly flowDepth: number;
  /** Whether its line begins with the dash of an item, so that the next item is not part of it. */
  readonly isInItem: boolean;
}

/**
 * Counts what the aliases of a document would expand to, without expanding them.
 * Where an anchored node ends is taken from indents and brackets, a little too
 * late rather than too early, so the count is never too small.
 */
export class AliasWeight {
  #words = 0;
  #aliased = 0;
  #line = -1;
  #isInItem = false;
  #previous: Word['type'] = null;
  /** From the outside to the inside: whatever ends, ends from the inside. */
  readonly #open: OpenAnchor[] = [];
  /** Where the outermost open anchor of a name began. */
  readonly #openSince = new Map<string, number>();
  readonly #closed = new Map<string, number>();

  /** How many words the aliases up to this word stand for. */
  add(word: Readonly<Word>): number {
    if (word.line !== this.#line) {
      this.#line = word.line;
      this.#isInItem = word.type === 'seq-item-ind';
    }
    // The text of a block belongs to its header, wherever it stands.
    if (this.#previous !== 'block-scalar-header') this.#closeBefore(word);
    this.#previous = word.type;
    this.#words++;
    if (word.type === 'anchor') {
      const name = word.text.slice(1);
      const { indent, line, flowDepth } = word;
      this.#open.push({ name, startsAt: this.#words, indent, line, flowDepth, isInItem: this.#isInItem });
      if (!this.#openSince.has(name)) this.#openSince.set(name, this.#words);
    } else if (word.type === 'alias') {
      const weight = this.#weightOf(word.text.slice(1));
      this.#words += weight;
      this.#aliased += weight;
    }
    return this.#aliased;
  }

  #weightOf(name: string): number {
    const openSince = this.#openSince.get(name);
    return openSince === undefined ? (this.#closed.get(name) ?? 0) : this.#words - openSince;
  }

  #closeBefore(word: Readonly<Word>): void {
    for (
      let last = this.#open.at(-1);
      last !== undefined && isBehind(word, this.#isInItem, last);
      last = this.#open.at(-1)
    ) {
      this.#open.pop();
      this.#closed.set(last.name, this.#words - last.startsAt);
      if (this.#openSince.get(last.name) === last.startsAt) this.#openSince.delete(last.name);
    }
  }
}

/** Whether a word, on a line that may begin with the dash of an item, stands behind all that an anchor is for. */
function isBehind(word: Readonly<Word>, isInItem: boolean, anchor: OpenAnchor): boolean {
  if (word.flowDepth < anchor.flowDepth) return true;
  if (word.flowDepth > 0) return word.type === 'comma' && word.flowDepth === anchor.flowDepth;
  if (word.line === anchor.line || word.type === 'flow-seq-end' || word.type === 'flow-map-end') return false;
  if (word.indent !== anchor.indent) return word.indent < anchor.indent;
  // The items of a list may stand at the indent of its key.
  return anchor.isInItem || !isInItem;
}
