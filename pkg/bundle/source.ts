import {
  isAlias,
  isMap,
  isScalar,
  LineCounter,
  type ParsedNode,
  parseAllDocuments,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import { BundleError, type Place } from './error.ts';

/** A text that was read as one YAML (or JSON) mapping, with the position of every value kept. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly root: YAMLMap;
  /** The line of a character offset, counted from one. */
  lineOf(offset: number): number;
}

/** One string value and where it stands in the text. */
export interface Value {
  readonly text: string;
  readonly field: string;
  readonly line: number;
  /** Offsets of the value as written, quotes and block header included. */
  readonly start: number;
  readonly end: number;
  readonly style: string;
}

/** A bundle is below 20 KB and a Terraform state seldom above 1 MB. */
const LARGEST_CHARS = 8 * 1024 * 1024;

/** UTF-8 bytes as text. A byte order mark is kept, so that encoding gives the same bytes again. */
export function decodeUtf8(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new BundleError('malformed', { path }, 'is not UTF-8 text, and not a file encrypted with age either');
  }
}

/**
 * Reads one mapping. Every scalar stays a text, as Talos reads these files (a token of digits is no number).
 * Refused, with the line: syntax errors, duplicate keys, a second document, anchors, aliases and tags, because a value
 * that is written once and used twice cannot be replaced in one place.
 */
export function parseSource(text: string, path: string): Source {
  if (text.trim() === '' || text.trim() === '\uFEFF') throw new BundleError('missing', { path }, 'is empty');
  if (text.length > LARGEST_CHARS) {
    throw new BundleError('malformed', { path }, `has ${text.length} characters; at most ${LARGEST_CHARS} are read`);
  }
  const counter = new LineCounter();
  const lineOf = (offset: number) => counter.linePos(offset).line;
  const [first, second] = parseDocuments(text, path, counter);
  const problem = first?.errors[0] ?? first?.warnings[0] ?? second?.errors[0];
  if (problem !== undefined) {
    // Not the library's message: it may quote the line, which holds a secret.
    const line = lineOf(problem.pos[0]);
    throw new BundleError(
      'malformed',
      { path, line },
      `is not valid YAML (${problem.code.toLowerCase().replaceAll('_', ' ')})`,
    );
  }
  if (second !== undefined) {
    const line = lineOf(second.range[0]);
    throw new BundleError('malformed', { path, line }, 'a second YAML document begins; expected one document');
  }
  const root = first?.contents;
  if (!isMap(root)) throw new BundleError('malformed', { path, line: 1 }, 'is not a mapping of fields to values');
  refuseSharing(root, path, lineOf);
  return { path, text, root, lineOf };
}

function parseDocuments(text: string, path: string, lineCounter: LineCounter) {
  try {
    const documents = parseAllDocuments(text, {
      schema: 'failsafe',
      lineCounter,
      prettyErrors: false,
      uniqueKeys: true,
      logLevel: 'silent',
    });
    return 'empty' in documents ? [] : documents;
  } catch {
    // The parser recurses: a text that nests thousands of levels ends its stack.
    throw new BundleError('malformed', { path }, 'is not valid YAML (nested too deeply)');
  }
}

function refuseSharing(root: YAMLMap, path: string, lineOf: (offset: number) => number): void {
  visit(root, {
    Node(_key, node) {
      const line = lineOf((node as ParsedNode).range?.[0] ?? 0);
      // An unquoted mask reads as an alias of that name.
      if (isAlias(node) && /^\*+$/.test(node.source)) throw maskedValue({ path, line });
      if (isAlias(node) || ('anchor' in node && node.anchor !== undefined)) {
        throw new BundleError(
          'unsupported',
          { path, line },
          'YAML anchors and aliases are not read here; write the value out',
        );
      }
      if (node.tag !== undefined) {
        throw new BundleError('unsupported', { path, line }, 'YAML tags are not read here; write the plain value');
      }
    },
  });
}

/** The mapping at `path` below `map`, or nothing. */
export function mapAt(map: YAMLMap, path: readonly string[]): YAMLMap | undefined {
  let at: YAMLMap = map;
  for (const key of path) {
    const next = at.get(key, true);
    if (!isMap(next)) return undefined;
    at = next;
  }
  return at;
}

/** The line where the value at `path` stands or would have to stand: that of its nearest parent that exists. */
export function lineNear(source: Source, map: YAMLMap, path: readonly string[]): number {
  const parents = path.map((_key, index) => mapAt(map, path.slice(0, index))).filter((parent) => parent !== undefined);
  return source.lineOf(parents.at(-1)?.range?.[0] ?? 0);
}

/**
 * The text at `path` below `map`. Nothing when the field is absent, empty or null: Go's decoder, which Talos and
 * Terraform use, makes no difference between them. `prefix` is what stands before `path` in messages.
 */
export function valueAt(source: Source, map: YAMLMap, path: readonly string[], prefix = ''): Value | undefined {
  const field = prefix + path.join('.');
  const node = mapAt(map, path.slice(0, -1))?.get(path.at(-1), true);
  if (node === undefined) return undefined;
  const [start, end] = (node as unknown as ParsedNode).range ?? [0, 0];
  const line = source.lineOf(start);
  if (!isScalar(node)) {
    throw new BundleError('malformed', { path: source.path, line, field }, 'is a list or a mapping; expected a text');
  }
  const scalar = node as Scalar<unknown>;
  const style = scalar.type ?? 'PLAIN';
  const text = typeof scalar.value === 'string' ? scalar.value : '';
  if (text === '' || (style === 'PLAIN' && /^(~|null|Null|NULL)$/.test(text))) return undefined;
  return { text, field, line, start, end, style };
}

/** The refusal of a value that a tool has masked before it showed the file. */
export function maskedValue(place: Place): BundleError {
  return new BundleError(
    'redacted',
    place,
    'is masked (******), so nothing can be signed with this file; use the original',
  );
}
