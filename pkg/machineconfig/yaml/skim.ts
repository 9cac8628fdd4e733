import { CST, Lexer } from 'yaml';

/**
 * Decides which parts of a document are worth parsing.
 *
 * Most of a configuration (kubelet arguments, files, manifests) has nothing to
 * do with keys. The lexer must see every byte, because only it knows where a
 * scalar ends, but the parser and composer, four fifths of the time, are given
 * only the keys that matter. What is left out keeps its bytes: edits are spliced
 * by offset.
 */
export interface Interest {
  /** Top-level keys that are read whole. */
  readonly whole: ReadonlySet<string>;
  /** Top-level keys of which only some second-level keys are read. */
  readonly partial: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What the skimmer gives its reader. */
export interface SkimSink {
  /** The next lexeme to parse. */
  lexeme(text: string): void;
  /** So many characters were left out. */
  skip(length: number): void;
  /** A key at the top (`parent` undefined) or second level, read or not. */
  key(parent: string | undefined, key: string, offset: number): void;
  /** A document begins. */
  document(): void;
  /** Every word, read or not. The object is reused: copy what must outlive the call. */
  word(word: Readonly<Word>): void;
}

/** What a lexeme is; null for what the lexer does not know. */
type WordType = ReturnType<typeof CST.tokenType> | 'scalar';

/** A lexeme that is neither space nor comment. */
export interface Word {
  type: WordType;
  text: string;
  offset: number;
  /** The spaces before the first word of its line, and that line's number among the lines outside scalars. */
  indent: number;
  line: number;
  /** The flow collections (`[`, `{`) around it, itself included. */
  flowDepth: number;
}

/** Walks the lexemes of `text` once; linear, no recursion. */
export function skim(text: string, interest: Interest, sink: SkimSink): void {
  const walk = new Walk(interest, sink);
  for (const lexeme of new Lexer().lex(text)) walk.next(lexeme);
  walk.flush();
}

const SCALAR_MARK = '\u001f';
const DEPTH_CHANGES: ReadonlyMap<WordType, -1 | 1> = new Map([
  ['flow-map-start', 1],
  ['flow-seq-start', 1],
  ['flow-map-end', -1],
  ['flow-seq-end', -1],
]);

/** An indent that no line has. */
export const NEVER = Number.POSITIVE_INFINITY;

class Walk {
  readonly #interest: Interest;
  readonly #sink: SkimSink;
  #offset = 0;
  #flowDepth = 0;
  #atLineStart = true;
  #indent = 0;
  readonly #current: Word = { type: 'space', text: '', offset: 0, indent: 0, line: 0, flowDepth: 0 };
  /** The lexeme behind a scalar mark is text, whatever it looks like. */
  #textFollows = false;
  #blockScalar = false;
  /** Spaces and the scalar mark of a line whose first word is not seen yet. */
  #pending: string[] = [];
  /** The indent whose key is being left out. */
  #skippingAt = NEVER;
  #topKey: string | undefined;
  #secondIndent: number | undefined;

  constructor(interest: Interest, sink: SkimSink) {
    this.#interest = interest;
    this.#sink = sink;
  }

  next(lexeme: string): void {
    if (this.#textFollows) {
      this.#textFollows = false;
      if (this.#blockScalar) this.#atLineStart = false;
      this.#word('scalar', lexeme);
      // The text of a block scalar ends with its last line: no newline lexeme follows.
      if (this.#blockScalar) this.#startLine();
      this.#blockScalar = false;
      return;
    }
    const type = CST.tokenType(lexeme) as WordType;
    if (type === 'scalar') {
      this.#textFollows = true;
      this.#blank(lexeme);
      return;
    }
    switch (type) {
      case 'newline':
        this.#blank(lexeme);
        this.#startLine();
        return;
      case 'space':
        if (this.#atLineStart && this.#pending.length === 0) this.#indent = lexeme.length;
        this.#blank(lexeme);
        return;
      case 'comment':
        this.#blank(lexeme);
        return;
      case 'byte-order-mark':
      case 'doc-mode':
      case 'doc-start':
      case 'doc-end':
      case 'directive-line':
        this.#boundary(type, lexeme);
        return;
      default:
        if (type === 'block-scalar-header') this.#blockScalar = true;
        if (type === 'flow-error-end') this.#flowDepth = 0;
        this.#word(type, lexeme);
    }
  }

  flush(): void {
    for (const lexeme of this.#pending.splice(0)) this.#emit(lexeme);
  }

  #startLine(): void {
    this.flush();
    this.#atLineStart = true;
    this.#indent = 0;
    this.#current.line++;
  }

  #boundary(type: WordType, lexeme: string): void {
    this.#skippingAt = NEVER;
    this.#flowDepth = 0;
    this.#topKey = undefined;
    this.#secondIndent = undefined;
    // A document with a marker is announced by it, one without by its first line.
    if (type === 'doc-start' || type === 'doc-mode') this.#sink.document();
    this.#emit(lexeme);
  }

  #blank(lexeme: string): void {
    if (this.#atLineStart) this.#pending.push(lexeme);
    else this.#emit(lexeme);
  }

  #word(type: WordType, lexeme: string): void {
    if (this.#atLineStart && this.#flowDepth === 0) this.#firstWord(type, lexeme);
    this.#atLineStart = false;
    this.#flowDepth = Math.max(0, this.#flowDepth + (DEPTH_CHANGES.get(type) ?? 0));
    this.flush();
    const word = this.#current;
    word.type = type;
    word.text = lexeme;
    word.offset = this.#offset;
    word.indent = this.#indent;
    word.flowDepth = this.#flowDepth;
    this.#sink.word(word);
    this.#emit(lexeme);
  }

  /** A line begins with a word: is its key left out, read, or part of the key above? */
  #firstWord(type: WordType, lexeme: string): void {
    if (this.#indent > this.#skippingAt || (this.#indent === this.#skippingAt && type === 'seq-item-ind')) return;
    this.#skippingAt = NEVER;
    const key = keyText(type, lexeme);
    if (this.#indent === 0) {
      this.#topKey = key;
      this.#secondIndent = undefined;
      if (key === undefined) return;
      this.#sink.key(undefined, key, this.#offset);
      if (!this.#interest.whole.has(key) && !this.#interest.partial.has(key)) this.#skippingAt = 0;
      return;
    }
    this.#secondWord(key);
  }

  #secondWord(key: string | undefined): void {
    const partial = this.#interest.partial.get(this.#topKey ?? '');
    if (partial === undefined) return;
    // Where a level begins with what cannot be told (a tag on its own line), its indent cannot be told either.
    this.#secondIndent ??= key === undefined ? NEVER : this.#indent;
    if (this.#indent !== this.#secondIndent || key === undefined) return;
    this.#sink.key(this.#topKey, key, this.#offset + this.#indent);
    if (!partial.has(key)) this.#skippingAt = this.#indent;
  }

  #emit(lexeme: string): void {
    const length = lengthOf(lexeme);
    this.#offset += length;
    if (this.#skippingAt === NEVER) this.#sink.lexeme(lexeme);
    else this.#sink.skip(length);
  }
}

/** Marks that the lexer adds are not part of the text. */
function lengthOf(lexeme: string): number {
  return lexeme === SCALAR_MARK || lexeme === CST.DOCUMENT || lexeme === CST.FLOW_END ? 0 : lexeme.length;
}

/** The name of a key as far as a lexeme tells; undefined for what is no plain or simply quoted word. */
function keyText(type: WordType, lexeme: string): string | undefined {
  if (type === 'scalar') return lexeme;
  if (type === 'single-quoted-scalar') return lexeme.slice(1, -1).replaceAll("''", "'");
  if (type !== 'double-quoted-scalar') return undefined;
  return lexeme.includes('\\') ? undefined : lexeme.slice(1, -1);
}
