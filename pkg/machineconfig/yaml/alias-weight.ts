import type { Word } from './skim.ts';

/** How many words aliases may stand for in all. A real configuration has a handful. */
const LIMIT = 200_000;

interface OpenAnchor {
  readonly name: string;
  readonly startsAt: number;
  readonly indent: number;
  readonly line: number;
  readonly flowDepth: number;
}

/**
 * Counts what the aliases of a document would expand to, without expanding them.
 * Where an anchored node ends is taken from indents and brackets, a little too
 * late rather than too early, so the count is never too small.
 */
export class AliasWeight {
  #words = 0;
  #aliased = 0;
  #open: OpenAnchor[] = [];
  readonly #closed = new Map<string, number>();

  /** Whether the document is still within the limit after this word. */
  accepts(word: Readonly<Word>): boolean {
    this.#closeBefore(word);
    this.#words++;
    if (word.type === 'anchor') {
      const { indent, line, flowDepth } = word;
      this.#open.push({ name: word.text.slice(1), startsAt: this.#words, indent, line, flowDepth });
    } else if (word.type === 'alias') {
      const weight = this.#weightOf(word.text.slice(1));
      this.#words += weight;
      this.#aliased += weight;
    }
    return this.#aliased <= LIMIT;
  }

  #weightOf(name: string): number {
    const closed = this.#closed.get(name);
    if (closed !== undefined) return closed;
    const open = this.#open.find((anchor) => anchor.name === name);
    return open === undefined ? 1 : this.#words - open.startsAt;
  }

  #closeBefore(word: Readonly<Word>): void {
    if (this.#open.length === 0) return;
    this.#open = this.#open.filter((anchor) => {
      const isOver =
        word.flowDepth < anchor.flowDepth ||
        (word.type === 'comma' && word.flowDepth === anchor.flowDepth) ||
        (word.flowDepth === 0 && word.line > anchor.line && word.indent <= anchor.indent);
      if (isOver) this.#closed.set(anchor.name, this.#words - anchor.startsAt);
      return !isOver;
    });
  }
}
