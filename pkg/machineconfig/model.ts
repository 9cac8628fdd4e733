import type { CertificateAndKey, EncryptionKey, ServiceAccountKey } from '../pki/index.ts';
import type { Access } from './access.ts';
import type { TalosVersion } from './version.ts';
import type { Edit } from './yaml/edits.ts';

/** A certificate authority that a cluster has. */
export type CaTargetName = 'talos' | 'kubernetes' | 'etcd' | 'kubernetes-aggregator';

/** Anything that Ichor replaces in a machine configuration. */
export type Target = CaTargetName | 'etcd-encryption' | 'service-account';

/** What a configuration is rendered for. `Finalizing` renders as `Dropping`, `Rewriting` as `Issuing`. */
export type RenderStage = 'Accepting' | 'Issuing' | 'Dropping';

/** Where a configuration stands for one change. */
export type StageName = 'Before' | RenderStage | 'NotConcerned' | 'Foreign';

/** Where a configuration stands, and why where it is nowhere. */
export interface Standing {
  readonly stage: StageName;
  /** With `Foreign`: what was found and expected, with fingerprints, never key bytes. */
  readonly reason?: string;
}

/** One CA to replace. */
export interface CaChange {
  readonly target: CaTargetName;
  readonly old: CertificateAndKey;
  readonly new: CertificateAndKey;
}

/** One encryption key to replace. The names are part of every stored value: they are never changed. */
export interface EncryptionChange {
  readonly target: 'etcd-encryption';
  readonly old: EncryptionKey;
  readonly new: EncryptionKey;
}

/** The service-account key to replace. */
export interface ServiceAccountChange {
  readonly target: 'service-account';
  readonly old: ServiceAccountKey;
  readonly new: ServiceAccountKey;
}

/** One thing to replace: the material before and after. */
export type Change = CaChange | EncryptionChange | ServiceAccountChange;

/** One difference between what a stage expects and what a configuration holds. */
export interface DriftItem {
  readonly target: Target;
  /** Such as `machine.ca` or `KubeAPIServerCAConfig.acceptedCAs`. */
  readonly field: string;
  /** Texts with fingerprints and names, never key bytes. */
  readonly expected: string;
  readonly found: string;
}

/** Everything that is particular to one target; one per file under `targets/`. */
export interface TargetRenderer<C extends Change> {
  /** Where the configuration stands for the change. */
  stand(access: Access, change: C): Standing;
  /** The edits that bring a configuration, which stands somewhere, to a stage. Empty where it is there. */
  render(access: Access, change: C, request: RenderRequest): Edit[];
  /** What differs from the stage, field by field. */
  drift(access: Access, change: C, stage: RenderStage): Omit<DriftItem, 'target'>[];
}

/** What a renderer is asked for. */
export interface RenderRequest {
  readonly stage: RenderStage;
  readonly version: TalosVersion;
}
