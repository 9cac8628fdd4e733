import type { Interest } from './skim.ts';

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
    masked.push(text.slice(kept, start), '#', ' '.repeat(end - start - 2), '\n');
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
  let regionStart: number | undefined;
  const close = (end: number) => {
    if (regionStart !== undefined && end - regionStart > 2) regions.push({ start: regionStart, end });
    regionStart = undefined;
  };
  let at = 0;
  for (let next = text.indexOf('\n'); next !== -1; next = text.indexOf('\n', at)) {
    const begin = indentEnd(text, at);
    const isIdle = levels.isIdle(text, at, begin);
    if (!isIdle) close(at);
    if (!leavesNothingOpen(text, begin, next)) return regions;
    if (isIdle) regionStart ??= at;
    at = next + 1;
  }
  close(at);
  return regions;
}

/** Follows the keys of the first two levels of block mappings. */
class Levels {
  readonly #interest: Interest;
  #topKey = '';
  #second: number | undefined;
  /** Lines deeper than this belong to a key without interest. */
  #idleBelow: number | undefined;

  constructor(interest: Interest) {
    this.#interest = interest;
  }

  isIdle(text: string, lineStart: number, begin: number): boolean {
    const first = text[begin];
    if (first === undefined || first === '\n' || first === '\r' || first === '#') return this.#idleBelow !== undefined;
    const indent = begin - lineStart;
    const isItem = first === '-' && text[begin + 1] === ' ';
    if (this.#idleBelow !== undefined && (indent > this.#idleBelow || (indent === this.#idleBelow && isItem)))
      return true;
    this.#idleBelow = undefined;
    if (!isItem) this.#enter(keyAt(text, begin), indent);
    return false;
  }

  #enter(key: string | undefined, indent: number): void {
    if (indent === 0) {
      this.#topKey = key ?? '';
      this.#second = undefined;
      const isRead = key === undefined || this.#interest.whole.has(key) || this.#interest.partial[key] !== undefined;
      if (!isRead) this.#idleBelow = 0;
      return;
    }
    const partial = this.#interest.partial[this.#topKey];
    if (partial === undefined) return;
    this.#second ??= indent;
    if (indent === this.#second && key !== undefined && !partial.has(key)) this.#idleBelow = indent;
  }
}

const PLAIN_KEY = /[A-Za-z0-9_./-]+(?=:[ \r\n])/y;

function keyAt(text: string, at: number): string | undefined {
  PLAIN_KEY.lastIndex = at;
  return PLAIN_KEY.exec(text)?.[0];
}

function indentEnd(text: string, at: number): number {
  let end = at;
  while (text.charCodeAt(end) === 32) end++;
  return end;
}

const CLOSED = /(?:"(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'|\[[^[\]{}"'&*!#\r\n]*\]|\{[^[\]{}"'&*!#\r\n]*\})[ \t]*/y;

/** Whether a line surely opens no quote and no bracket that it does not close, and no anchor, alias or tag. */
function leavesNothingOpen(text: string, begin: number, lineEnd: number): boolean {
  let at = begin;
  while (text[at] === '-' && text[at + 1] === ' ') at = indentEnd(text, at + 1);
  const afterKey = valueStart(text, at, lineEnd);
  if (afterKey === undefined) return false;
  return afterKey === lineEnd || isClosedValue(text, afterKey, lineEnd);
}

/** Where the value of a line begins; the line's end where it is all key or plain text; undefined where it is not sure. */
function valueStart(text: string, at: number, lineEnd: number): number | undefined {
  const first = text[at] ?? '\n';
  if ('[{&*!?|>%@`'.includes(first)) return at;
  if (first === '"' || first === "'") {
    const closed = closedAt(text, at);
    if (closed === undefined) return undefined;
    return text[closed] === ':' ? indentEnd(text, closed + 1) : at;
  }
  if (first === '#') return lineEnd;
  const colon = text.indexOf(': ', at);
  return colon === -1 || colon >= lineEnd ? lineEnd : indentEnd(text, colon + 1);
}

function isClosedValue(text: string, at: number, lineEnd: number): boolean {
  const first = text[at] ?? '\n';
  if (first === '|' || first === '>') return true;
  if ('&*!?%@`'.includes(first)) return false;
  if (!'"\'[{'.includes(first)) return true;
  const closed = closedAt(text, at);
  return closed !== undefined && (closed >= lineEnd || '#\r\n'.includes(text[closed] ?? '\n'));
}

function closedAt(text: string, at: number): number | undefined {
  CLOSED.lastIndex = at;
  return CLOSED.test(text) ? CLOSED.lastIndex : undefined;
}
