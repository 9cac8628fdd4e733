/** Steps between states, kept to be walked backwards. */
export interface Ways {
  add(from: number, to: number): void;
  /** The first of so many states from which none of the ends is reached, or undefined. */
  unreached(ends: readonly number[], states: number): number | undefined;
}

/** No steps yet. */
export function createWays(): Ways {
  let from = new Uint32Array(1 << 16);
  let to = new Uint32Array(1 << 16);
  let count = 0;
  return {
    add(start, end) {
      if (count === from.length) {
        from = grown(from);
        to = grown(to);
      }
      from[count] = start;
      to[count] = end;
      count += 1;
    },
    unreached(ends, states) {
      const into = sortedByEnd(from.subarray(0, count), to.subarray(0, count), states);
      const found = reached(into, ends, states).indexOf(0);
      return found < 0 ? undefined : found;
    },
  };
}

/** The states from which steps lead into each state: those of state n are `sources[begins[n]]` to before `begins[n + 1]`. */
interface Into {
  readonly begins: Uint32Array;
  readonly sources: Uint32Array;
}

function sortedByEnd(from: Uint32Array, to: Uint32Array, states: number): Into {
  const begins = new Uint32Array(states + 1);
  for (const end of to) begins[end + 1] = at(begins, end + 1) + 1;
  for (let state = 0; state < states; state += 1) begins[state + 1] = at(begins, state + 1) + at(begins, state);
  const next = begins.slice();
  const sources = new Uint32Array(to.length);
  for (const [step, end] of to.entries()) {
    sources[at(next, end)] = at(from, step);
    next[end] = at(next, end) + 1;
  }
  return { begins, sources };
}

/** 1 for each state from which an end is reached. */
function reached({ begins, sources }: Into, ends: readonly number[], states: number): Uint8Array {
  const isReached = new Uint8Array(states);
  const queue = new Uint32Array(states);
  let filled = 0;
  const take = (state: number): void => {
    if (at(isReached, state) === 1) return;
    isReached[state] = 1;
    queue[filled] = state;
    filled += 1;
  };
  for (const end of ends) take(end);
  for (let taken = 0; taken < filled; taken += 1) {
    const state = at(queue, taken);
    for (let step = at(begins, state); step < at(begins, state + 1); step += 1) take(at(sources, step));
  }
  return isReached;
}

function at(array: Uint32Array | Uint8Array, index: number): number {
  return array[index] ?? 0;
}

function grown(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}
