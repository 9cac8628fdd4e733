import type { OperationSpec, OperationStatus, TalosOperation } from '../../api/v1alpha1/index.ts';
import type { BundleDocument, BundleReplacements, RotationRecord, SecretsBundle } from '../../pkg/bundle/index.ts';

/** Everything about one cluster that must outlive the process. */
export interface ClusterState {
  readonly bundle: SecretsBundle;
  /** The bundle that the record's rotation replaced; there from the replacement until it is settled. */
  readonly previous: SecretsBundle | undefined;
  readonly record: RotationRecord | undefined;
}

/** One line of the audit trail: before and after every change of the world. Never holds a secret. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly time: string;
  readonly operation: string;
  readonly stage: string;
  readonly effect: string;
  readonly machine?: string;
  /** Where it is for several at once. */
  readonly machines?: readonly string[];
  readonly phase: 'before' | 'after';
  readonly outcome?: 'ok' | 'refused' | 'unknown';
  readonly message: string;
}

/** A new operation, as a person asks for it. */
export interface NewOperation {
  readonly name: string;
  readonly spec: OperationSpec;
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What may be changed of an operation in one write. */
export interface OperationChange {
  /** What may be changed of an operation that has begun; the rest was frozen with it. */
  readonly spec?: Partial<Omit<OperationSpec, 'type' | 'caRotation'>>;
  readonly status?: OperationStatus;
  readonly finalizers?: readonly string[];
  /** Added to what is there. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** `true` removes the hand-off annotation. */
  readonly dropHandoff?: boolean;
}

/** The credentials of people that a cluster folder holds; `.new` stands beside the old one during the hand-off. */
export type CredentialName = 'talosconfig' | 'talosconfig.new' | 'kubeconfig' | 'kubeconfig.new';

/**
 * What is kept of one cluster. Every write is durable when its promise resolves, and either done whole or not at all.
 * Errors: `StoreError`, which says whether the write is certainly not done; `StaleOperationError`; `BundleError` for
 * files that cannot be understood.
 */
export interface ClusterStore {
  /** The addresses in the current context of the talosconfig: where the machines were last known. */
  endpoints(): Promise<readonly string[]>;

  /** The bundle with its text. Never made anew: a missing or damaged one is an error. */
  readBundle(): Promise<BundleDocument>;
  /** Bundle, record and kept bundle, as they fit together. */
  readState(): Promise<ClusterState>;
  /** Read back and compared before it resolves. Refused (`exists`) where a record stands that is not this one. Needs the lock. */
  writeRecord(record: RotationRecord): Promise<void>;
  /** Idempotent. Needs the lock. */
  removeRecord(): Promise<void>;
  /**
   * Replaces the bundle in one step and keeps the old one beside it. `expected` is the `bundleFingerprint` of the bundle
   * that the caller saw; another one is refused (`conflict`). A bundle that holds the replacements already is left alone.
   * Needs the lock.
   */
  replaceBundle(expected: string, replacements: BundleReplacements): Promise<void>;
  /** Archives the kept bundle, encrypted, or removes it. Idempotent. Needs the lock. */
  settlePrevious(choice: OperationSpec['previousBundle']): Promise<void>;

  /** Sorted by name. */
  listOperations(): Promise<readonly TalosOperation[]>;
  readOperation(name: string): Promise<TalosOperation | undefined>;
  /** Errors: `exists`. */
  createOperation(operation: NewOperation): Promise<TalosOperation>;
  /**
   * Writes the change if the stored operation still has the resource version (and the uid) of `operation`, and returns
   * what is stored now. One that is being deleted is gone as soon as its last finalizer is. Errors: `StaleOperationError`.
   */
  updateOperation(operation: TalosOperation, change: OperationChange): Promise<TalosOperation>;
  /** Marks it for deletion; one without finalizers is gone at once. Idempotent; nothing for one that is not there. */
  deleteOperation(name: string): Promise<TalosOperation | undefined>;

  appendAudit(entry: AuditEntry): Promise<void>;
  /** Oldest first. A line that a crash tore is left out and counted. */
  readAudit(): Promise<{ readonly entries: readonly AuditEntry[]; readonly torn: number }>;

  readCredential(name: CredentialName): Promise<string | undefined>;
  writeCredential(name: CredentialName, text: string): Promise<void>;
  /** Idempotent. */
  removeCredential(name: CredentialName): Promise<void>;
  /** Errors: `missing`. */
  readTalosconfig(): Promise<string>;
  writeTalosconfig(text: string): Promise<void>;
}
