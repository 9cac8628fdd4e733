import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import { signedBy } from '../../internal/controller/observe-machine.ts';
import { caOf, type RotationRecord, type SecretsBundle } from '../../pkg/bundle/index.ts';
import type { Certificate, CertificateAndKey, Fingerprint } from '../../pkg/pki/index.ts';

/** What a CA is in a rotation. */
export type Role = 'old' | 'new';

/** Which CA is which: what stands in a recording in the place of fingerprints. */
export interface Roles {
  /** The CAs of a target that are known, the old one first. */
  of(target: CaTarget): readonly (readonly [Role, CertificateAndKey])[];
  /** A list of CAs in its order, `old new`; `-` for an empty one, `other` for a CA that nobody knows. */
  list(target: CaTarget, fingerprints: readonly Fingerprint[]): string;
  /** Whose leaf this is. */
  signer(target: CaTarget, leaf: Certificate | undefined): string;
  /** Learns the new CAs; the first ones that are told stay. */
  learn(record: RotationRecord): void;
}

/** Roles in a rotation of a cluster with this bundle; the new CAs are learnt when they are made. */
export function createRoles(bundle: SecretsBundle): Roles {
  const known = new Map(
    CA_TARGETS.map((target) => [target, [['old', caOf(bundle, target)]] as [Role, CertificateAndKey][]]),
  );
  const of = (target: CaTarget): [Role, CertificateAndKey][] => known.get(target) ?? [];
  const nameOf = (target: CaTarget, is: (ca: CertificateAndKey) => boolean): string =>
    of(target).find(([, ca]) => is(ca))?.[0] ?? 'other';
  return {
    of,
    list(target, fingerprints) {
      const names = fingerprints.map((each) => nameOf(target, (ca) => ca.certificate.fingerprint === each));
      return names.join(' ') || '-';
    },
    signer: (target, leaf) => (leaf === undefined ? '-' : nameOf(target, (ca) => signedBy(leaf, ca.certificate))),
    learn(record) {
      for (const target of CA_TARGETS) {
        const next = record.targets[target];
        if (next !== undefined && of(target).length === 1) of(target).push(['new', next]);
      }
    },
  };
}
