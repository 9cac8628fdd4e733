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

/** Whether two records with the same keys hold the same values. */
function isSame<Facts extends object>(a: Facts, b: Facts): boolean {
  for (const key in a) if (a[key] !== b[key]) return false;
  return true;
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const key in value) frozen(value[key]);
  return Object.freeze(value);
}
