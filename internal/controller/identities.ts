import type { CaTarget } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import { type Certificate, type CertificateAndKey, issueLeaf, talosAdminProfile } from '../../pkg/pki/index.ts';
import type { Identity } from '../../pkg/talos/index.ts';
import type { ClusterState } from './ports.ts';

/** Our own client certificates last this long and are renewed after half of it. */
const VALIDITY_MS = 12 * 3_600_000;

/** Makes our own short-lived client certificates; a simulated world gives them out of a stock. */
export type IssueLeaf = typeof issueLeaf;

/** Who we are towards the machines: certificates of our own, issued from the CAs that the store holds. */
export interface Identities {
  /**
   * To be tried in this order; each trusts the old and the new CA. Every look gets its own, so that it opens its own
   * connections: an open one is never verified again, and what came over it says nothing of who is accepted now.
   */
  talos(state: ClusterState, preferNew: boolean): Promise<readonly Identity[]>;
  /** Makes a leaf for a proof. */
  readonly issue: IssueLeaf;
}

/**
 * Issues administrators' certificates from the bundle's own CA (so a lost or
 * expired talosconfig is no dead end) and, during a rotation, from the new one.
 * They are kept in memory only.
 */
export function createIdentities(clock: Clock, issue: IssueLeaf = issueLeaf): Identities {
  const issued = new Map<
    string,
    { readonly credentials: CertificateAndKey; readonly from: number; readonly renewAt: number }
  >();

  async function credentialsOf(ca: CertificateAndKey): Promise<CertificateAndKey> {
    const { fingerprint } = ca.certificate;
    const now = clock.now();
    const known = issued.get(fingerprint);
    // One that was issued by a clock that was ahead, and has been set back since, is not valid yet on any machine.
    if (known !== undefined && now >= known.from && now < known.renewAt) return known.credentials;
    const credentials = await issue(ca, { ...talosAdminProfile({ now }), validityMs: VALIDITY_MS });
    issued.set(fingerprint, { credentials, from: now, renewAt: now + VALIDITY_MS / 2 });
    return credentials;
  }

  return {
    issue,
    async talos(state, preferNew) {
      const authorities = talosAuthorities(state);
      const trust = authorities.map((ca) => ca.certificate);
      const ordered = preferNew ? [...authorities].reverse() : authorities;
      const made = await Promise.allSettled(
        ordered.map(async (ca) => ({ trust, credentials: await credentialsOf(ca) })),
      );
      const identities = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      // The old CA may expire on the way; from Issuing on the new one opens every door.
      const failed = made.find((each) => each.status === 'rejected');
      if (identities.length === 0 && failed !== undefined) throw failed.reason;
      return identities;
    },
  };
}

/** The Talos CAs that may be in use, the older first. */
function talosAuthorities(state: ClusterState): CertificateAndKey[] {
  const all = [state.previous?.talos, state.bundle.talos, state.record?.targets.talos].filter((ca) => ca !== undefined);
  const seen = new Set<string>();
  return all.filter(({ certificate }) => !seen.has(certificate.fingerprint) && seen.add(certificate.fingerprint));
}

/** Certificates of every CA of one target that may be in use, the older first. */
export function authoritiesOf(state: ClusterState, target: CaTarget): readonly Certificate[] {
  const known = authorities.get(state) ?? new Map<CaTarget, readonly Certificate[]>();
  const found = known.get(target) ?? findAuthorities(state, target);
  authorities.set(state, known.set(target, found));
  return found;
}

/** Asked for by every machine of a look; forgotten together with the state. */
const authorities = new WeakMap<ClusterState, Map<CaTarget, readonly Certificate[]>>();

function findAuthorities({ previous, bundle, record }: ClusterState, target: CaTarget): readonly Certificate[] {
  const sources = [previous && caOf(previous, target), caOf(bundle, target), record?.targets[target]];
  const certificates = sources.map((source) => source?.certificate).filter((each) => each !== undefined);
  return certificates.filter(
    (each, index) => certificates.findIndex((other) => other.fingerprint === each.fingerprint) === index,
  );
}
