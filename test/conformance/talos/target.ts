import type { SecretsBundle } from '../../../pkg/bundle/index.ts';
import type { CertificateAndKey } from '../../../pkg/pki/index.ts';
import type { TalosMachine } from '../../../pkg/talos/index.ts';

/** One machine of a cluster under test. */
export interface TargetMachine {
  readonly name: string;
  readonly address: string;
  readonly role: 'controlplane' | 'worker';
}

/**
 * A healthy cluster whose machines speak the Talos API. The suite knows nothing
 * else about it: whether it is real or simulated shows in nothing that it asks.
 */
export interface TalosTarget {
  /** Control planes first. */
  readonly machines: readonly TargetMachine[];
  /** The material that the cluster was made from. */
  readonly bundle: SecretsBundle;
  /** An administrator's client certificate by the Talos CA of `bundle`. */
  readonly credentials: CertificateAndKey;
}

/** The things of a target that suites work with, made once it is there. */
export interface Subject {
  readonly target: TalosTarget;
  /** A client of that machine, with trust and credentials of the target; closed when the suite ends. */
  machine(name: string): TalosMachine;
  readonly controlPlanes: readonly TalosMachine[];
  readonly workers: readonly TalosMachine[];
  readonly all: readonly TalosMachine[];
  readonly first: TalosMachine;
}
