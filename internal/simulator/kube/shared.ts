/**
 * Objects made out of facts, anew only when one of the facts is another than last
 * time: between two changes an object is listed a thousand times. `build` sees the
 * facts alone, so nothing else can make an object old. Facts are compared by
 * identity. What is made is frozen, all the way down: many hold it.
 */
export function shared<Facts extends object, Made extends object>(
  build: (facts: Facts) => Made,
): (owner: object, facts: Facts) => Made {
  const kept = new WeakMap<object, { readonly facts: Facts; readonly made: Made }>();
  return (owner, facts) => {
    const last = kept.get(owner);
    if (last !== undefined && isSame(last.facts, facts)) return last.made;
    const made = frozen(build(facts));
    kept.set(owner, { facts, made });
    return made;
  };
}

/**
 * The same for facts that are plain values: what is made of the same ones is the same object for every owner,
 * in all worlds. Runs of a search are alike for long, and their objects would be made anew in each.
 */
export function sharedByAll<Facts extends object, Made extends object>(
  build: (facts: Facts) => Made,
): (owner: object, facts: Facts) => Made {
  const made = new Map<string, Made>();
  return shared((facts) => {
    const key = JSON.stringify(facts);
    const known = made.get(key);
    if (known !== undefined) return known;
    const next = build(facts);
    if (made.size >= KEPT) made.clear();
    made.set(key, next);
    return next;
  });
}

/** Whether two records with the same keys hold the same values. */
function isSame<Facts extends object>(a: Facts, b: Facts): boolean {
  for (const key in a) if (a[key] !== b[key]) return false;
  return true;
}

/** A part of objects that is the same for the same text, made once and frozen. */
export function once<Made extends object>(build: (text: string) => Made): (text: string) => Made {
  const kept = new Map<string, Made>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const made = frozen(build(text));
    // Names of workloads are few; where they are not, nothing is kept for long.
    if (kept.size >= KEPT) kept.clear();
    kept.set(text, made);
    return made;
  };
}

const KEPT = 1_000;

/** The same value, which nobody can change any more. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) for (const part of value) frozen(part);
  else for (const key in value) frozen(value[key]);
  return Object.freeze(value);
}
