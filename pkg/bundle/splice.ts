/** Puts `text` in the place of the characters from `start` up to `end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies edits that do not overlap; every character outside them stays. */
export function splice(source: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    if (edit.start < from) throw new RangeError('two edits of one text overlap');
    parts.push(source.slice(from, edit.start), edit.text);
    from = edit.end;
  }
  parts.push(source.slice(from));
  return parts.join('');
}

/**
 * `text` as a scalar in the style of the one that it replaces. `text` is base64 or a field name: characters that
 * need no escape in any style. A block scalar becomes a plain one on its own line.
 */
export function scalarLike(style: string, text: string, replaced: string): string {
  if (style === 'QUOTE_DOUBLE') return `"${text}"`;
  if (style === 'QUOTE_SINGLE') return `'${text}'`;
  if (style === 'PLAIN') return text;
  const ending = /\r?\n$/.exec(replaced)?.[0] ?? '';
  return text + ending;
}
