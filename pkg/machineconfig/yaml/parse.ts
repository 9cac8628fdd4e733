import { Composer, type Document, isMap, Parser, type YAMLMap } from 'yaml';
import { MachineConfigError } from '../error.ts';
import { AliasWeight } from './alias-weight.ts';
import { mask } from './mask.ts';
import { isNull, scalarOf } from './nodes.ts';
import { type Interest, type SkimSink, skim, type Word } from './skim.ts';
import { lineAt, placeAt, type SourceText, sourceText } from './source.ts';

/** Deeper than any real configuration, far from the end of any stack. */
const MAX_DEPTH = 100;

/** How many words aliases may stand for in all. A real configuration has a handful. */
const MAX_ALIASED = 200_000;

/** One document of a configuration that concerns us. */
export interface ConfigDocument {
  /** `v1alpha1` for the old single document, else the document's `kind`. */
  readonly kind: string;
  readonly map: YAMLMap;
  /** Where it begins: its `---`, or its first line where it has none. */
  readonly start: number;
}

/** A configuration read far enough to find and replace its keys. */
export interface ParsedMachineConfig extends SourceText {
  readonly documents: readonly ConfigDocument[];
  /** The old document; every configuration that Talos accepts has one. */
  readonly legacy: ConfigDocument;
}

/** The keys that hold material, decide its shape, or are shown. */
const INTEREST: Interest = {
  whole: new Set([
    ...['version', 'apiVersion', 'kind', 'name', 'issuingCA', 'acceptedCAs', 'issuer', 'accepted', 'config'],
    ...['clusterName', 'endpoint', 'clusterID', 'apiPort'],
  ]),
  partial: new Map([
    ['machine', new Set(['type', 'ca', 'acceptedCAs'])],
    [
      'cluster',
      new Set([
        ...['id', 'clusterName', 'controlPlane', 'ca', 'acceptedCAs', 'aggregatorCA', 'serviceAccount', 'etcd'],
        ...['secretboxEncryptionSecret', 'aescbcEncryptionSecret'],
      ]),
    ],
  ]),
};

/**
 * Reads a machine configuration: one or more YAML documents, one of them the
 * `v1alpha1` document, as Talos's own loader demands.
 *
 * @param where the machine or file, for errors.
 * @throws {MachineConfigError} for text that is no such thing, with its line.
 */
export function parseMachineConfig(text: string, where?: string): ParsedMachineConfig {
  const source = sourceText(text, where);
  const reader = new Reader(source);
  skim(mask(text, INTEREST), INTEREST, reader);
  const documents = reader.end();
  const [legacy] = documents.filter((document) => document.kind === 'v1alpha1');
  if (legacy === undefined) {
    const message = 'has no v1alpha1 document (machine: and cluster:); expected a whole Talos machine configuration';
    throw new MachineConfigError('not-a-machine-configuration', message, { where });
  }
  return { ...source, documents, legacy };
}

/** The document of a kind. */
export function documentOf(config: ParsedMachineConfig, kind: string): ConfigDocument | undefined {
  return config.documents.find((document) => document.kind === kind);
}

class Reader implements SkimSink {
  readonly #source: SourceText;
  readonly #parser = new Parser();
  // Scalars stay text: numbers beyond 2^53 and the spellings of YAML 1.1 keep their digits and letters.
  // Duplicates are looked for below: the library's own search takes quadratic time.
  readonly #composer = new Composer({
    schema: 'failsafe',
    uniqueKeys: false,
    prettyErrors: false,
    keepSourceTokens: true,
  });
  readonly #documents: ConfigDocument[] = [];
  readonly #weight = new AliasWeight();
  #keys = new Set<string>();
  #skipped = 0;

  constructor(source: SourceText) {
    this.#source = source;
  }

  lexeme(text: string): void {
    this.#closeGap();
    this.#parse(text);
  }

  skip(length: number): void {
    this.#skipped += length;
  }

  /** To the parser, lines that are left out are a comment: it measures lengths from node to node. */
  #closeGap(): void {
    const length = this.#skipped;
    this.#skipped = 0;
    if (length === 0) return;
    this.#parse('#'.padEnd(length - 1));
    this.#parse('\n');
  }

  #parse(text: string): void {
    for (const token of this.#parser.next(text)) this.#compose(this.#composer.next(token));
    if (this.#parser.stack.length > MAX_DEPTH) this.#tooDeep(this.#parser.offset);
  }

  document(): void {
    this.#keys = new Set();
  }

  key(parent: string | undefined, key: string, offset: number): void {
    const path = parent === undefined ? key : `${parent}.${key}`;
    if (this.#keys.has(path)) {
      throw new MachineConfigError('duplicate-key', 'the key is there twice', placeAt(this.#source, offset, path));
    }
    this.#keys.add(path);
    if (key === '<<') {
      const message = 'a merge key can bring in certificates and keys from elsewhere; write the fields out';
      throw new MachineConfigError('indirect-value', message, placeAt(this.#source, offset, path));
    }
  }

  word(word: Readonly<Word>): void {
    if (word.flowDepth > MAX_DEPTH) this.#tooDeep(word.offset);
    if (isUnterminated(word)) {
      throw new MachineConfigError(
        'not-yaml',
        'the quote that begins here never ends',
        placeAt(this.#source, word.offset),
      );
    }
    if (this.#weight.add(word) > MAX_ALIASED) {
      const message = `its aliases stand for more than ${MAX_ALIASED} words; Talos refuses such a document too`;
      throw new MachineConfigError('aliases', message, placeAt(this.#source, word.offset));
    }
  }

  end(): readonly ConfigDocument[] {
    for (const token of this.#parser.end()) this.#compose(this.#composer.next(token));
    this.#compose(this.#composer.end());
    return this.#documents;
  }

  #tooDeep(offset: number): never {
    throw new MachineConfigError(
      'nesting',
      `is nested more than ${MAX_DEPTH} levels deep`,
      placeAt(this.#source, offset),
    );
  }

  #compose(composed: Iterable<Document.Parsed>): void {
    for (const document of composed) this.#add(document);
  }

  #add(document: Document.Parsed): void {
    const [error] = document.errors;
    if (error !== undefined) {
      throw new MachineConfigError('not-yaml', error.message, placeAt(this.#source, error.pos[0]));
    }
    const { contents } = document;
    if (contents === null || isNull(contents)) return;
    if (!isMap(contents)) {
      const message = 'expected a document of fields, found a list or a single value';
      throw new MachineConfigError('not-a-machine-configuration', message, placeAt(this.#source, contents.range[0]));
    }
    const kind = scalarOf(contents, 'kind') ?? 'v1alpha1';
    this.#refuseDuplicate(kind, scalarOf(contents, 'name'), contents.range[0]);
    this.#documents.push({ kind, map: contents, start: document.range[0] });
  }

  readonly #seen = new Map<string, number>();

  #refuseDuplicate(kind: string, name: string | undefined, offset: number): void {
    const id = name === undefined ? kind : `${kind} ${name}`;
    const earlier = this.#seen.get(id);
    if (earlier !== undefined) {
      const message = `a second ${id} document; the first is at line ${lineAt(this.#source.text, earlier)}`;
      throw new MachineConfigError('duplicate-document', message, placeAt(this.#source, offset));
    }
    this.#seen.set(id, offset);
  }
}

/** Whether a quoted word runs to the end of the text. In a part that is not parsed nobody else would notice. */
function isUnterminated({ type, text }: Readonly<Word>): boolean {
  // A quote that is written twice, or behind a backslash, does not end it.
  if (type === 'single-quoted-scalar') return !/(?:^|[^'])(?:'')*'$/.test(text.slice(1));
  return type === 'double-quoted-scalar' && !/(?:^|[^\\])(?:\\\\)*"$/.test(text.slice(1));
}
