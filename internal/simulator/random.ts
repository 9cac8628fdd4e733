/** One stream of random numbers. Each purpose has its own, so that a fault more does not shift what everything else draws. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** One of the items. Throws a RangeError for an empty list. */
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
}

/** The stream of that name under a seed: the same two give the same numbers on every machine. */
export function createRandom(seed: number, stream: string): Random {
  let state = hashOf(`${seed}/${stream}`);
  // mulberry32: 32 bits of state, exact in doubles.
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    pick(items) {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new RangeError('nothing to pick from');
      return item;
    },
    chance: (probability) => next() < probability,
  };
}

/** FNV-1a over UTF-16 units, 32 bits. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
