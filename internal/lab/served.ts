import type { Certificate, CertificateAndKey, Fingerprint, LeafProfile, PrivateKeyPem } from '../../pkg/pki/index.ts';
import type { CertificateUse, SimMachine, World } from '../simulator/index.ts';

/** What listens for one machine. */
export interface Served {
  /** Follows the machine after something happened: opens and closes listeners, swaps certificates. Must be cheap where nothing changed. */
  sync(): void;
  /** Ends every listener and every connection. */
  close(): Promise<void>;
}

/** What a certificate is for: decides its subject, its usages and its names, as on a real machine. */
export type LeafUse = CertificateUse;

/** Real certificates for whatever CAs the configurations of a lab's machines hold, the user's own included. */
export interface Certificates {
  /**
   * Takes up the CAs of a configuration, with their keys where it has them, and
   * issues what every machine known so far needs of them. Idempotent. When it
   * resolves, `leaf` answers at once for those CAs. Never called twice at a time
   * for one machine. The world waits for it before its controllers take the
   * configuration up.
   */
  learn(machine: Pick<SimMachine, 'name' | 'address' | 'role'>, config: string): Promise<void>;
  /** Who signed a certificate, by its signature, of all CAs learned; a CA is its own issuer. */
  issuerOf(certificate: Certificate): Fingerprint | undefined;
  /** A CA by its fingerprint; undefined where it was never learned. */
  ca(fingerprint: Fingerprint): Certificate | undefined;
  /**
   * The certificate of one machine for one purpose, of one CA: the same one at every
   * call, the one that is on the wire and in the machine's resources. Throws an Error
   * that names CA, machine and use where the CA's key was not learned.
   */
  leaf(machine: Pick<SimMachine, 'name' | 'address'>, use: LeafUse, issuer: Fingerprint): CertificateAndKey;
  /** The private key to a public one by its fingerprint, of every key learned or made; for resources, which hold both. */
  key(publicKey: Fingerprint): PrivateKeyPem | undefined;
  /** A certificate for somebody else: kubeconfig, client configuration, signing request. Rejects where the CA's key was not learned. */
  issue(issuer: Fingerprint, profile: LeafProfile): Promise<CertificateAndKey>;
  /** A server certificate for a signing request in PEM. Rejects as `issue`, and for a request that cannot be signed. */
  sign(issuer: Fingerprint, request: string): Promise<Certificate>;
}

/** A world that is served over sockets. */
export interface LabWorld {
  readonly world: World;
  readonly certificates: Certificates;
  /** The cluster's endpoint: an address of its own that forwards to any API server that is ready. */
  readonly endpoint: { readonly address: string; readonly port: number };
  /** One line for `ichor lab logs MACHINE`. Never a secret. */
  log(machine: string, line: string): void;
  /** To be called after changing the world outside of its own events, so that all servers follow. */
  changed(): void;
}
