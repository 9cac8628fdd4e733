import { type CST, isMap, isScalar, isSeq, type ParsedNode, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import type { Edit } from './edits.ts';
import {
  fieldLines,
  flow,
  flowField,
  isSafePlain,
  itemLines,
  type Layout,
  literalContent,
  type Value,
} from './emit.ts';
import { type AnyNode, type AnyPair, contentEnd } from './nodes.ts';
import { lineEnd, lineStart, type SourceText } from './source.ts';

/**
 * Changes to single fields of a text, as edits. Each keeps the style it finds:
 * quotes, block or flow, indent, line ends; what is beside it stays.
 */
export interface Changes {
  /** Puts another text into a scalar. */
  setScalar(node: Scalar.Parsed, text: string): Edit[];
  /** Adds a field behind an existing one of the same mapping. */
  addField(map: YAMLMap, after: string, key: string, value: Value): Edit[];
  /** Removes a field with its line. */
  removeField(map: YAMLMap, key: string): Edit[];
  /** Adds items to a list at a position: before item `at`, or at the end. */
  addItems(list: YAMLSeq, at: number, values: readonly Value[]): Edit[];
  /** Removes items by position; removing all of a block list leaves nothing, so remove its field instead. */
  removeItems(list: YAMLSeq, positions: ReadonlySet<number>): Edit[];
  /** Writes another item in the place of one. */
  replaceItem(list: YAMLSeq, at: number, value: Value): Edit[];
}

/** Creates the changes for one source. */
export function changesOf(source: SourceText): Changes {
  return {
    setScalar: (node, text) => setScalar(source, node, text),
    addField: (map, after, key, value) => addField(source, map, after, key, value),
    removeField: (map, key) => removeField(source, map, key),
    addItems: (list, at, values) => addItems(source, list, at, values),
    removeItems: (list, positions) => removeItems(source, list, positions),
    replaceItem: (list, at, value) => replaceItem(source, list, at, value),
  };
}

function setScalar(source: SourceText, node: Scalar.Parsed, text: string): Edit[] {
  const [start, end] = node.range;
  if (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED') return setBlock(source, node, text);
  if (node.type === 'QUOTE_SINGLE' && !/[\n'\\]/.test(text)) return [{ start, end, text: `'${text}'` }];
  if (node.type === 'PLAIN' && isSafePlain(text)) return [{ start, end, text }];
  return [{ start, end, text: JSON.stringify(text) }];
}

/** The header keeps its indent digit and its comment; the content keeps its indent. */
function setBlock({ text: whole, eol }: SourceText, node: Scalar.Parsed, text: string): Edit[] {
  const start = node.range[0];
  const end = contentEnd(whole, node);
  const [header = '|', ...lines] = whole.slice(start, end).split(/\r?\n/);
  const first = lines.find((line) => line.trim() !== '');
  // Nothing says how far in the content of an empty block would stand.
  if (first === undefined) {
    return [{ start, end, text: header.replace(/[|>][-+1-9]*/, () => JSON.stringify(text)) }];
  }
  const indent = first.length - first.trimStart().length;
  const written = [header.replace(/[|>][-+]?([1-9]?)[-+]?/, '|$1'), ...literalContent(text, indent)].join(eol);
  // A literal block that ends with the file has no last newline unless the file has one.
  return [{ start, end, text: end === whole.length && text.endsWith('\n') ? written + eol : written }];
}

/** Whole lines at an offset where a line begins, or behind the last line of a file that lacks its newline. */
function insertLines({ text, eol }: SourceText, at: number, lines: readonly string[]): Edit {
  const written = lines.join(eol);
  return { start: at, end: at, text: text[at - 1] === '\n' ? written + eol : eol + written };
}

/**
 * Whole lines out of the text, those that touch as one edit. Where they reach the
 * end of a file without a last newline, the newline before them goes too.
 */
function removeLines({ text }: SourceText, extents: readonly (readonly [number, number])[]): Edit[] {
  const merged: { start: number; end: number; readonly text: '' }[] = [];
  for (const [from, to] of extents) {
    const start = lineStart(text, from);
    const end = lineEnd(text, to);
    const last = merged.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end, text: '' });
  }
  const last = merged.at(-1);
  const isUnterminated = last?.end === text.length && text[text.length - 1] !== '\n';
  if (last !== undefined && isUnterminated && last.start > 0) last.start -= text[last.start - 2] === '\r' ? 2 : 1;
  return merged;
}

function addField(source: SourceText, map: YAMLMap, after: string, key: string, value: Value): Edit[] {
  const pairs = map.items as AnyPair[];
  const pair = pairs.find((each) => isScalar(each.key) && each.key.value === after) ?? pairs.at(-1);
  // Only brackets can be without a field.
  if (pair === undefined) {
    const inside = (map.range?.[0] ?? 0) + 1;
    return [{ start: inside, end: inside, text: flowField(key, value) }];
  }
  if (map.flow) {
    const end = (pair.value ?? pair.key).range[1];
    return [{ start: end, end, text: `, ${flowField(key, value)}` }];
  }
  const layout = layoutOf(source.text, map);
  const end = lineEnd(source.text, pairContentEnd(source.text, pair));
  return [insertLines(source, end, fieldLines(key, value, layout))];
}

function removeField(source: SourceText, map: YAMLMap, key: string): Edit[] {
  const pairs = map.items as AnyPair[];
  const index = pairs.findIndex((pair) => isScalar(pair.key) && pair.key.value === key);
  const pair = pairs[index];
  if (pair === undefined) return [];
  if (map.flow)
    return removeFlow(
      pairs.map((each) => [each.key.range[0], (each.value ?? each.key).range[1]]),
      new Set([index]),
    );
  const { value } = pair;
  if (!isSeq(value) || value.flow) {
    return removeLines(source, [[pair.key.range[0], pairContentEnd(source.text, pair)]]);
  }
  // Comments between the items of a list are not ours: only the key and the items go.
  const items = value.items.map((_, position) => itemExtent(source.text, value, position));
  return removeLines(source, [[pair.key.range[0], pair.key.range[1]], ...items]);
}

function addItems(source: SourceText, list: YAMLSeq, at: number, values: readonly Value[]): Edit[] {
  if (values.length === 0) return [];
  const items = list.items as ParsedNode[];
  if (list.flow) {
    const written = values.map(flow).join(', ');
    const first = items[0];
    if (at === 0 && first !== undefined) return [{ start: first.range[0], end: first.range[0], text: `${written}, ` }];
    const before = items[at - 1];
    const end = before === undefined ? (list.range?.[0] ?? 0) + 1 : before.range[1];
    return [{ start: end, end, text: before === undefined ? written : `, ${written}` }];
  }
  const { text } = source;
  const [firstDash] = itemExtent(text, list, 0);
  const indent = firstDash - lineStart(text, firstDash);
  const lines = values.flatMap((value) => itemLines(value, { indent, step: stepBelow(text, list) }));
  if (at < items.length) return [insertLines(source, lineStart(text, itemExtent(text, list, at)[0]), lines)];
  return [insertLines(source, lineEnd(text, itemExtent(text, list, items.length - 1)[1]), lines)];
}

function removeItems(source: SourceText, list: YAMLSeq, positions: ReadonlySet<number>): Edit[] {
  const items = list.items as ParsedNode[];
  if (list.flow)
    return removeFlow(
      items.map((item) => [item.range[0], item.range[1]]),
      positions,
    );
  const ordered = [...positions].sort((a, b) => a - b);
  return removeLines(
    source,
    ordered.map((position) => itemExtent(source.text, list, position)),
  );
}

function replaceItem(source: SourceText, list: YAMLSeq, at: number, value: Value): Edit[] {
  const item = (list.items as ParsedNode[])[at];
  if (list.flow && item !== undefined) return [{ start: item.range[0], end: item.range[1], text: flow(value) }];
  return [...addItems(source, list, at, [value]), ...removeItems(source, list, new Set([at]))];
}

/** Items of a flow collection go with the comma before them; leading ones with the comma behind. */
function removeFlow(extents: readonly (readonly [number, number])[], positions: ReadonlySet<number>): Edit[] {
  let leading = 0;
  while (positions.has(leading)) leading++;
  return extents.flatMap(([start, end], at) => {
    if (!positions.has(at)) return [];
    if (at < leading) return [{ start, end: extents[at + 1]?.[0] ?? end, text: '' }];
    return [{ start: extents[at - 1]?.[1] ?? start, end, text: '' }];
  });
}

/** From the dash of a block list's item to the end of its content. */
function itemExtent(text: string, list: YAMLSeq, position: number): readonly [number, number] {
  const token = (list as { srcToken?: CST.BlockSequence }).srcToken?.items[position];
  const dash = token?.start.find((each) => each.type === 'seq-item-ind');
  const node = (list.items as ParsedNode[])[position];
  const start = dash?.offset ?? 0;
  return [start, node === undefined ? start : contentEnd(text, node)];
}

/** The end of a pair's content, on the key's own line where nothing is written behind the colon. */
function pairContentEnd(text: string, { key, value }: AnyPair): number {
  return contentEnd(text, value ?? key);
}

/** The indent of a block mapping's fields, and the step that its levels use. */
function layoutOf(text: string, map: YAMLMap): Layout {
  const first = (map.items as AnyPair[])[0];
  const at = first?.key.range[0] ?? 0;
  const indent = at - lineStart(text, at);
  for (const pair of map.items as AnyPair[]) {
    const { value } = pair;
    if (!isMap(value) || value.flow) continue;
    const inner = (value.items as AnyPair[])[0]?.key.range[0];
    if (inner !== undefined) return { indent, step: Math.max(1, inner - lineStart(text, inner) - indent) };
  }
  return { indent, step: indent > 0 ? indent : 4 };
}

function stepBelow(text: string, list: YAMLSeq): number {
  const map = (list.items as AnyNode[]).find((item) => isMap(item));
  return isMap(map) ? layoutOf(text, map).step : 4;
}
