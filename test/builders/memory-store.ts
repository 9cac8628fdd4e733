import {
  API_VERSION,
  HANDOFF_ANNOTATION,
  type OperationSpec,
  pendingStatus,
  ROTATION_FINALIZER,
  type TalosOperation,
} from '../../api/v1alpha1/index.ts';
import { type AuditEntry, type EngineStore, StaleOperationError } from '../../internal/controller/index.ts';
import {
  type BundleDocument,
  bundleFingerprint,
  openBundle,
  type RotationRecord,
  type SecretsBundle,
} from '../../pkg/bundle/index.ts';

/** A store in memory for tests of the engine; durable for as long as the object lives. */
export interface MemoryStore extends EngineStore {
  /** What `secrets.yaml` would hold now. */
  secrets(): Promise<Uint8Array>;
  readonly audit: readonly AuditEntry[];
  create(name: string, spec: Partial<OperationSpec>, now: number): TalosOperation;
  edit(name: string, change: (operation: TalosOperation) => TalosOperation): void;
}

/** Starts from the text of a `secrets.yaml` and the addresses of some control planes. */
export async function createMemoryStore(secrets: Uint8Array, endpoints: readonly string[]): Promise<MemoryStore> {
  let document: BundleDocument = await openBundle(secrets, { path: 'secrets.yaml' });
  let previous: SecretsBundle | undefined;
  let record: RotationRecord | undefined;
  let version = 0;
  const operations = new Map<string, TalosOperation>();
  const audit: AuditEntry[] = [];

  function put(operation: TalosOperation): TalosOperation {
    version += 1;
    const stored = { ...operation, metadata: { ...operation.metadata, resourceVersion: String(version) } };
    operations.set(operation.metadata.name, stored);
    return stored;
  }

  return {
    audit,
    secrets: () => document.write(),
    endpoints: async () => endpoints,
    readState: async () => ({ bundle: document.bundle, previous, record }),
    async writeRecord(next) {
      if (record !== undefined && record.operation !== next.operation)
        throw new Error('a record of another operation stands');
      record = next;
    },
    async removeRecord() {
      record = undefined;
    },
    async replaceBundle(expected, replacements) {
      if (bundleFingerprint(document.bundle) !== expected) throw new Error('the bundle is not the one that was read');
      previous = document.bundle;
      document = document.replace(replacements);
    },
    async settlePrevious() {
      previous = undefined;
    },
    readOperation: async (name) => operations.get(name),
    listOperations: async () => [...operations.values()],
    async updateOperation(operation, change) {
      const current = operations.get(operation.metadata.name);
      if (current?.metadata.resourceVersion !== operation.metadata.resourceVersion) {
        throw new StaleOperationError(operation.metadata.name);
      }
      const annotations = { ...current.metadata.annotations };
      if (change.dropHandoff) delete annotations[HANDOFF_ANNOTATION];
      const finalizers = [...(change.finalizers ?? current.metadata.finalizers)];
      const next = put({
        ...current,
        metadata: { ...current.metadata, annotations, finalizers },
        status: change.status ?? current.status,
      });
      if (next.metadata.deletionTimestamp !== undefined && finalizers.length === 0)
        operations.delete(next.metadata.name);
      return next;
    },
    async appendAudit(entry) {
      audit.push(entry);
    },
    create(name, spec, now) {
      return put({
        apiVersion: API_VERSION,
        kind: 'TalosOperation',
        metadata: {
          name,
          uid: `uid-${name}`,
          generation: 1,
          resourceVersion: '0',
          creationTimestamp: new Date(now).toISOString(),
          finalizers: [ROTATION_FINALIZER],
          annotations: {},
        },
        spec: { type: 'CARotation', paused: false, restartWorkloads: 'Never', previousBundle: 'Remove', ...spec },
        status: pendingStatus(),
      });
    },
    edit(name, change) {
      const current = operations.get(name);
      if (current !== undefined) put(change(current));
    },
  };
}
