import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { MachineConfigError } from '../error.ts';
import { placeAt, type SourceText } from './source.ts';

/** A node as the parser gives it; `null` stands for a value that is not written at all. */
export type AnyNode = ParsedNode | null;

/** A key with its value. */
export type AnyPair = Pair<ParsedNode, AnyNode>;

/** The pair of a key, or undefined. The first one: duplicates are refused where material is read. */
export function pairOf(map: YAMLMap, key: string): AnyPair | undefined {
  return (map.items as AnyPair[]).find((pair) => isScalar(pair.key) && pair.key.value === key);
}

/** Whether a scalar is one of YAML's spellings of nothing. Quoted text never is. */
export function isNull(node: AnyNode): boolean {
  if (node === null) return true;
  return isScalar(node) && node.type === 'PLAIN' && /^(?:|~|null|Null|NULL)$/.test(node.source ?? '');
}

/** The text of a scalar field, or undefined where it is absent, null or no scalar. Never throws. */
export function scalarOf(map: YAMLMap, key: string): string | undefined {
  const value = pairOf(map, key)?.value ?? null;
  return isScalar(value) && !isNull(value) ? String(value.value) : undefined;
}

/** A field on the way to material, with the name that errors show. */
export interface Field {
  readonly path: string;
  readonly pair: AnyPair;
}

/** Reads fields of one document and refuses whatever would make an edit land somewhere else. */
export interface FieldReader {
  /** The field, or undefined where it is absent. Refuses duplicates and merge keys. */
  field(map: YAMLMap, key: string, path: string): Field | undefined;
  /** The mapping in a field, or undefined where it is absent or null. */
  map(parent: YAMLMap, key: string, path: string): YAMLMap | undefined;
  /** The list in a field, or undefined where it is absent or null. */
  list(parent: YAMLMap, key: string, path: string): YAMLSeq | undefined;
  /** The scalar in a field, or undefined where it is absent or null. */
  scalar(parent: YAMLMap, key: string, path: string): Scalar.Parsed | undefined;
  /** A node that must be a mapping. */
  asMap(node: AnyNode, path: string): YAMLMap;
  /** A node that must be a scalar. */
  asScalar(node: AnyNode, path: string): Scalar.Parsed;
}

/** Creates the reader for one source. */
export function createFieldReader(source: SourceText): FieldReader {
  function refuse(
    kind: 'bad-value' | 'indirect-value' | 'duplicate-key',
    node: AnyNode,
    path: string,
    message: string,
  ): never {
    throw new MachineConfigError(kind, message, placeAt(source, node?.range[0] ?? 0, path));
  }
  function direct(node: AnyNode, path: string): void {
    if (isAlias(node)) {
      refuse('indirect-value', node, path, 'the value is a YAML alias, so an edit would reach elsewhere; write it out');
    }
    const anchor = node?.anchor;
    if (anchor !== undefined) {
      refuse('indirect-value', node, path, `the value has the YAML anchor &${anchor}; write it out where it is used`);
    }
    if (node?.tag !== undefined && !PLAIN_TAGS.has(node.tag)) {
      refuse('indirect-value', node, path, `the value has the YAML tag ${node.tag}; expected plain text`);
    }
  }
  function field(map: YAMLMap, key: string, path: string): Field | undefined {
    const pairs = (map.items as AnyPair[]).filter((pair) => isScalar(pair.key) && pair.key.value === key);
    if (pairs[1] !== undefined) refuse('duplicate-key', pairs[1].key, path, 'the key is there twice');
    const merge = pairOf(map, '<<');
    if (merge !== undefined) {
      refuse('indirect-value', merge.key, path, 'a merge key (<<) may bring in this field; write the fields out');
    }
    return pairs[0] === undefined ? undefined : { path, pair: pairs[0] };
  }
  function value(parent: YAMLMap, key: string, path: string): AnyNode {
    const node = field(parent, key, path)?.pair.value ?? null;
    direct(node, path);
    return isNull(node) ? null : node;
  }
  function asMap(node: AnyNode, path: string): YAMLMap {
    direct(node, path);
    return isMap(node) ? node : refuse('bad-value', node, path, 'expected fields');
  }
  function asScalar(node: AnyNode, path: string): Scalar.Parsed {
    direct(node, path);
    return isScalar(node) ? (node as Scalar.Parsed) : refuse('bad-value', node, path, 'expected a single value');
  }
  return {
    field,
    asMap,
    asScalar,
    map(parent, key, path) {
      const node = value(parent, key, path);
      return node === null ? undefined : asMap(node, path);
    },
    list(parent, key, path) {
      const node = value(parent, key, path);
      if (node === null || isSeq(node)) return node ?? undefined;
      return refuse('bad-value', node, path, 'expected a list');
    },
    scalar(parent, key, path) {
      const node = value(parent, key, path);
      return node === null ? undefined : asScalar(node, path);
    },
  };
}

const PLAIN_TAGS: ReadonlySet<string> = new Set([
  'tag:yaml.org,2002:str',
  'tag:yaml.org,2002:map',
  'tag:yaml.org,2002:seq',
]);

/** The offset behind the last character of a node's content; blank lines that follow it are not content. */
export function contentEnd(text: string, node: ParsedNode): number {
  const last = lastIn(node);
  if (last !== undefined) return contentEnd(text, last);
  const raw = text.slice(node.range[0], node.range[1]);
  const keepsBlankLines = /^[|>][0-9]*\+/.test(raw);
  return node.range[0] + (keepsBlankLines ? raw.replace(/\r?\n$/, '') : raw.trimEnd()).length;
}

/** What a block collection ends with: its last item, or what its last field holds, or the key of that where nothing is written. */
function lastIn(node: ParsedNode): ParsedNode | undefined {
  if (isMap(node) && !node.flow) {
    const pair = (node.items as AnyPair[]).at(-1);
    return pair?.value ?? pair?.key;
  }
  return isSeq(node) && !node.flow ? (node.items as ParsedNode[]).at(-1) : undefined;
}
