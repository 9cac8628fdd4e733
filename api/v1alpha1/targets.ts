/** The certificate authorities that a CA rotation can replace, in the order in which a cluster lists them. */
export const CA_TARGETS = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const;

/** One certificate authority of a Talos cluster. */
export type CaTarget = (typeof CA_TARGETS)[number];

/** What `rotate-ca` replaces when nobody says otherwise: the two that `talosctl rotate-ca` knows. */
export const DEFAULT_CA_TARGETS: readonly CaTarget[] = ['talos', 'kubernetes'];

/** Whether the text names a certificate authority. */
export function isCaTarget(text: string): text is CaTarget {
  return (CA_TARGETS as readonly string[]).includes(text);
}

/** The same targets, each once, in the order of `CA_TARGETS`. */
export function sortCaTargets(targets: readonly CaTarget[]): CaTarget[] {
  return CA_TARGETS.filter((target) => targets.includes(target));
}
