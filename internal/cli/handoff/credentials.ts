import type { CaTarget } from '../../../api/v1alpha1/index.ts';
import { caOf } from '../../../pkg/bundle/index.ts';
import {
  type Certificate,
  type CertificateAndKey,
  issueLeaf,
  kubernetesAdminProfile,
  talosAdminProfile,
} from '../../../pkg/pki/index.ts';
import type { TalosContext } from '../../../pkg/talos/index.ts';
import type { ClusterState } from '../../controller/index.ts';
import { type KubeconfigText, withMaterial } from './kubeconfig-text.ts';

/** The administrator's credentials of one cluster, as they are handed over. */
export interface AdminCredentials {
  /** A context for a talosconfig; its name is the cluster's. */
  readonly talos: TalosContext & { readonly credentials: CertificateAndKey };
  readonly kubeconfig: KubeconfigText;
}

/** Old and new CA of one target, while they differ. */
interface Authorities {
  /** Trusted: the old one first. One alone outside of a rotation of this target. */
  readonly trust: readonly Certificate[];
  /** The one whose leaves are accepted now and after. */
  readonly issuing: CertificateAndKey;
}

/**
 * The CAs of one target as a client has to know them. From stage Accepting on,
 * every machine accepts leaves of the new CA, and until Issuing is over some
 * still serve leaves of the old one: so credentials are issued by the new CA and
 * trust both.
 */
export function authoritiesFor(state: ClusterState, target: CaTarget): Authorities {
  const held = caOf(state.bundle, target);
  const next = state.record?.targets[target];
  if (next === undefined) return { trust: [held.certificate], issuing: held };
  const old =
    held.certificate.fingerprint === next.certificate.fingerprint
      ? state.previous && caOf(state.previous, target)
      : held;
  return { trust: [...(old === undefined ? [] : [old.certificate]), next.certificate], issuing: next };
}

/** What a new set of credentials is made from. */
export interface MakeOptions {
  readonly state: ClusterState;
  readonly now: number;
  /** What the old talosconfig says besides trust and credentials. */
  readonly context: Pick<TalosContext, 'endpoints' | 'nodes' | 'rest'>;
  /** An admin kubeconfig that a control plane issued for this call. */
  readonly issuedKubeconfig: KubeconfigText;
}

/** Issues the administrator's credentials that work now and after the rotation. */
export async function makeCredentials(options: MakeOptions): Promise<AdminCredentials> {
  const { state, now, context } = options;
  const talos = authoritiesFor(state, 'talos');
  const kubernetes = authoritiesFor(state, 'kubernetes');
  const isRotated = state.record?.targets.kubernetes !== undefined;
  return {
    talos: {
      ...context,
      trust: talos.trust,
      credentials: await issueLeaf(talos.issuing, talosAdminProfile({ now })),
    },
    // Outside of a rotation of the Kubernetes CA what Talos issued is right as it is.
    kubeconfig: isRotated
      ? await withMaterial(options.issuedKubeconfig, {
          trust: kubernetes.trust,
          credentials: await issueLeaf(kubernetes.issuing, kubernetesAdminProfile({ now })),
        })
      : options.issuedKubeconfig,
  };
}
