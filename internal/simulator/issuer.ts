import type { Fingerprint } from '../../pkg/pki/index.ts';
import type { CertificatesOfKey } from '../../pkg/talos/index.ts';
import type { OtherInputs } from './material.ts';

/** What a certificate of a machine is for. */
export type CertificateUse =
  | 'apid-server'
  | 'apid-client'
  | 'trustd-server'
  | 'etcd-server'
  | 'etcd-peer'
  | 'etcd-admin'
  | 'etcd-apiserver'
  | 'kube-apiserver'
  | 'apiserver-kubelet-client'
  | 'kubelet-client'
  | 'scheduler-client'
  | 'controller-manager-client'
  | 'admin-client'
  | 'front-proxy';

/** Whose certificate, and what for. */
export interface Holder {
  readonly machine: { readonly name: string; readonly address: string };
  readonly use: CertificateUse;
}

/** Who signs in a world. The search has one leaf for each CA; a lab has what its servers show. */
export interface Issuer {
  /** The certificate that a machine holds of a CA, as its resources show it. */
  pair(ca: Fingerprint, holder: Holder): CertificatesOfKey;
  /**
   * Takes up the CAs of a configuration before the machine's controllers do, and
   * issues what they will need. Absent where every CA is known from the start.
   */
  learn?(
    machine: { readonly name: string; readonly address: string; readonly role: 'controlplane' | 'worker' },
    config: string,
  ): Promise<void>;
  /** What a configuration says besides its CAs. Absent where nothing else is ever changed, as in a search. */
  otherInputs?(config: string): OtherInputs;
}
