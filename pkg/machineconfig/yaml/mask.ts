import { type Interest, NEVER } from './skim.ts';

/** Below this the lexer is fast enough by itself. */
const WORTH_MASKING = 256 * 1024;

/**
 * Blanks what nobody will read in a very large text, so that the lexer passes over
 * it in one step: the lines below a key without interest become one comment of the
 * same length, and every offset stays.
 *
 * Indents alone tell where such lines end, unless a quote or bracket is still open;
 * so every line on the way must be one that surely leaves nothing open. At the first
 * line that is not, the rest stays as it is, and the lexer takes its time.
 */
export function mask(text: string, interest: Interest): string {
  if (text.length < WORTH_MASKING) return text;
  const masked: string[] = [];
  let kept = 0;
  for (const { start, end } of idleRegions(text, interest)) {
    masked.push(text.slice(kept, start), '#'.padEnd(end - start - 1), '\n');
    kept = end;
  }
  masked.push(text.slice(kept));
  return masked.join('');
}

interface Region {
  readonly start: number;
  readonly end: number;
}

function idleRegions(text: string, interest: Interest): Region[] {
  const regions: Region[] = [];
  const levels = new Levels(interest);
  let idleFrom = 0;
  const close = (end: number) => {
    if (end - idleFrom > 1) regions.push({ start: idleFrom, end });
  };
  let at = 0;
  for (let next = text.indexOf('\n'); next !== -1; next = text.indexOf('\n', at)) {
    const begin = indentEnd(text, at);
    const isIdle = levels.isIdle(text, at, begin);
    if (!isIdle) close(at);
    if (!leavesNothingOpen(text.slice(begin, next))) return regions;
    at = next + 1;
    if (!isIdle) idleFrom = at;
  }
  close(at);
  return regions;
}

/** Follows the keys of the first two levels of block mappings. */
class Levels {
  readonly #interest: Interest;
  /** What is read below the key of the first level, where that is a part. */
  #partial: ReadonlySet<string> | undefined;
  #second: number | undefined;
  /** Lines deeper than this belong to a key without interest. */
  #idleBelow = NEVER;

  constructor(interest: Interest) {
    this.#interest = interest;
  }

  isIdle(text: string, lineStart: number, begin: number): boolean {
    const first = text.charAt(begin);
    if ('\r\n#'.includes(first)) return this.#idleBelow !== NEVER;
    const indent = begin - lineStart;
    const isItem = first === '-' && text[begin + 1] === ' ';
    if (indent > this.#idleBelow || (indent === this.#idleBelow && isItem)) return true;
    this.#idleBelow = NEVER;
    const key = keyAt(text, begin);
    if (indent === 0) this.#enterFirst(key, holdsFields(text, begin));
    else this.#enterSecond(key, indent);
    return false;
  }

  #enterFirst(key: string | undefined, holdsFields: boolean): void {
    this.#partial = key === undefined ? undefined : this.#interest.partial.get(key);
    this.#second = holdsFields ? undefined : NEVER;
    const isRead = key === undefined || this.#interest.whole.has(key) || this.#partial !== undefined;
    if (!isRead) this.#idleBelow = 0;
  }

  #enterSecond(key: string | undefined, indent: number): void {
    // Where a level begins with what cannot be told, its indent cannot be told either.
    this.#second ??= key === undefined ? NEVER : indent;
    if (indent === this.#second && key !== undefined && this.#partial?.has(key) === false) this.#idleBelow = indent;
  }
}

const PLAIN_KEY = /[A-Za-z0-9_./-]+(?=:[ \r\n])/y;

function keyAt(text: string, at: number): string | undefined {
  PLAIN_KEY.lastIndex = at;
  return PLAIN_KEY.exec(text)?.[0];
}

const BARE_KEY = /[A-Za-z0-9_./-]+: *(?:#.*)?\r?\n/y;

/** Whether nothing stands behind a key, so that what is below is not the text of a block. */
function holdsFields(text: string, at: number): boolean {
  BARE_KEY.lastIndex = at;
  return BARE_KEY.test(text);
}

function indentEnd(text: string, at: number): number {
  let end = at;
  while (text.charCodeAt(end) === 32) end++;
  return end;
}

/** The dashes of items, or the marker that begins a document. */
const DASHES = /^(?:-(?:--)? +)*/;
/** A key in quotes with its colon. */
const QUOTED_KEY = /^(?:"(?:[^"\\]|\\.)*"|'[^']*')[ \t]*: */;
/** A tab where one separates, and a byte order mark: either may stand before anything. */
const HIDING = /^\uFEFF|(?:^|[-:]) *\t/;
/** Nothing, or quotes or brackets that end where they begin, and hold no others. */
const CLOSED = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|\[[^[\]{}"'&*!#]*\]|\{[^[\]{}"'&*!#]*\})?[ \t]*(?:#.*)?\r?$/;
/** Text, or the header of a block of it. */
const PLAIN = /^[^"'[{&*!?%@`#]/;

/** Whether a line surely opens no quote and no bracket that it does not close, and no anchor, alias or tag. */
function leavesNothingOpen(line: string): boolean {
  if (HIDING.test(line)) return false;
  const rest = line.replace(DASHES, '');
  // The first colon of plain text that stands before a blank ends a key.
  const value = PLAIN.test(rest) ? rest.slice(rest.indexOf(': ') + 1).trimStart() : rest.replace(QUOTED_KEY, '');
  return PLAIN.test(value) || CLOSED.test(value);
}
