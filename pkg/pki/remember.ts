/** Characters of text that one memory keeps; its oldest entries go first. Some 2,000 bundles of one certificate. */
const LIMIT = 4 * 1024 * 1024;

/**
 * Reads each text once, for as long as it is asked for now and then. Watching a
 * cluster means reading the same few certificates off the same machines at every
 * look. Only for pure readings of public text: what is kept outlives its caller.
 */
export function remembered<T>(read: (text: string) => T, limit = LIMIT): (text: string) => T {
  const kept = new Map<string, T>();
  let size = 0;
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) {
      // The order of a Map is that of insertion: whatever is used again moves to its end.
      kept.delete(text);
      kept.set(text, known);
      return known;
    }
    const result = read(text);
    if (text.length > limit / 4) return result;
    kept.set(text, result);
    size += text.length;
    for (const oldest of kept.keys()) {
      if (size <= limit) break;
      kept.delete(oldest);
      size -= oldest.length;
    }
    return result;
  };
}
