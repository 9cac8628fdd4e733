import type { Certificate, Fingerprint } from './certificate.ts';

/** How a bundle differs from the one that was expected; certificates are compared by fingerprint. */
export interface BundleDifference {
  /** Expected, not found; in the expected order. */
  readonly missing: readonly Certificate[];
  /** Found, not expected; in the found order. */
  readonly unexpected: readonly Certificate[];
  /** Found more than once, each once. */
  readonly repeated: readonly Certificate[];
  /** The common certificates stand in another order. The first one signs in some places, so order can matter. */
  readonly reordered: boolean;
}

/** What distinguishes `found` from `expected`. */
export function compareBundles(expected: readonly Certificate[], found: readonly Certificate[]): BundleDifference {
  const expectedSet = fingerprints(expected);
  const foundSet = fingerprints(found);
  const commonExpected = [...expectedSet].filter((fingerprint) => foundSet.has(fingerprint));
  const commonFound = [...foundSet].filter((fingerprint) => expectedSet.has(fingerprint));
  return {
    missing: expected.filter((certificate) => !foundSet.has(certificate.fingerprint)),
    unexpected: found.filter((certificate) => !expectedSet.has(certificate.fingerprint)),
    repeated: [...foundSet].flatMap((fingerprint) => {
      const all = found.filter((certificate) => certificate.fingerprint === fingerprint);
      return all[0] !== undefined && all.length > 1 ? [all[0]] : [];
    }),
    reordered: commonExpected.some((fingerprint, index) => fingerprint !== commonFound[index]),
  };
}

/** Whether both hold the same certificates, each once, in the same order. */
export function sameBundle(a: readonly Certificate[], b: readonly Certificate[]): boolean {
  return a.length === b.length && a.every((certificate, index) => certificate.fingerprint === b[index]?.fingerprint);
}

/** Whether every certificate of `part` is in `whole`, in any order. */
export function isSubset(part: readonly Certificate[], whole: readonly Certificate[]): boolean {
  const all = fingerprints(whole);
  return part.every((certificate) => all.has(certificate.fingerprint));
}

function fingerprints(certificates: readonly Certificate[]): Set<Fingerprint> {
  return new Set(certificates.map((certificate) => certificate.fingerprint));
}
