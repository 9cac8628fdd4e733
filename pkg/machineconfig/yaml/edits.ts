/** Replaces `text.slice(start, end)`; an insertion has `start === end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Splices edits into a text; what no edit covers stays byte for byte. Insertions
 * at one offset keep the order in which they are given.
 *
 * @throws {RangeError} where two edits overlap: a fault of the caller.
 */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const ordered = [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  const parts: string[] = [];
  let at = 0;
  for (const edit of ordered) {
    if (edit.start < at) throw new RangeError(`edits overlap at offset ${edit.start}`);
    parts.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}
