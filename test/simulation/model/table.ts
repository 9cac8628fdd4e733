/** States by their words: an open hash table over one array, with the state that each was found from. */
export interface StateTable {
  /** The number of a state, or -1 where it is not there. */
  find(key: Uint32Array): number;
  /** Adds a state that is not there, and gives its number. */
  add(key: Uint32Array, parent: number): number;
  /** The state that it was first reached from; -1 for the first. */
  parent(state: number): number;
  size(): number;
  /** All states, one after the other; another array once the table has grown. */
  words(): Uint32Array;
}

/** A table for states of so many words. */
export function createStateTable(width: number): StateTable {
  let capacity = 1 << 16;
  let words = new Uint32Array(capacity * width);
  let parents = new Int32Array(capacity);
  /** Twice as many places as states: number of the state + 1, 0 where nothing is. */
  let places = new Uint32Array(capacity * 2);
  let size = 0;

  /** The place of a key, or the free one where it belongs. */
  function placeOf(key: Uint32Array, offset: number): number {
    const mask = places.length - 1;
    let place = hashOf(key, offset) & mask;
    for (;;) {
      const state = (places[place] ?? 0) - 1;
      if (state < 0 || isSame(state, key, offset)) return place;
      place = (place + 1) & mask;
    }
  }

  function isSame(state: number, key: Uint32Array, offset: number): boolean {
    for (let at = 0; at < width; at += 1) if (words[state * width + at] !== key[offset + at]) return false;
    return true;
  }

  function hashOf(key: Uint32Array, offset: number): number {
    let hash = 0x811c9dc5;
    for (let at = 0; at < width; at += 1) {
      hash = Math.imul(hash ^ (key[offset + at] ?? 0), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash, 0x85ebca6b);
    return (hash ^ (hash >>> 13)) >>> 0;
  }

  function grow(): void {
    capacity *= 2;
    const more = new Uint32Array(capacity * width);
    more.set(words);
    words = more;
    const moreParents = new Int32Array(capacity);
    moreParents.set(parents);
    parents = moreParents;
    places = new Uint32Array(capacity * 2);
    for (let state = 0; state < size; state += 1) places[placeOf(words, state * width)] = state + 1;
  }

  return {
    find: (key) => (places[placeOf(key, 0)] ?? 0) - 1,
    add(key, parent) {
      if (size === capacity) grow();
      words.set(key, size * width);
      parents[size] = parent;
      size += 1;
      places[placeOf(key, 0)] = size;
      return size - 1;
    },
    parent: (state) => parents[state] ?? -1,
    size: () => size,
    words: () => words,
  };
}
