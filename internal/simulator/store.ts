import {
  API_VERSION,
  HANDOFF_ANNOTATION,
  type OperationSpec,
  pendingStatus,
  ROTATION_FINALIZER,
  type TalosOperation,
} from '../../api/v1alpha1/index.ts';
import {
  type BundleDocument,
  bundleFingerprint,
  type SecretsBundle,
  writeRotationRecord,
} from '../../pkg/bundle/index.ts';
import { type AuditEntry, type ClusterState, type EngineStore, StaleOperationError } from '../controller/index.ts';
import { type FaultPlan, never, type SimProcess } from './faults.ts';
import type { Mint } from './mint.ts';
import { type Documents, stockOf } from './stock.ts';
import type { SimStorage } from './storage.ts';
import type { World } from './world.ts';

/** What is durable of one cluster: it outlives every process. */
export interface SimStore {
  document: BundleDocument;
  previous: SecretsBundle | undefined;
  /** The record as text, exactly as it would stand in `rotation.yaml`. */
  record: string | undefined;
  readonly operations: Map<string, TalosOperation>;
  readonly audit: AuditEntry[];
  /** What the evacuation hook was asked to move. */
  readonly storage: SimStorage;
  /** Whether somebody took away or changed what the rotation goes by; set by happenings. */
  isDamaged: boolean;
  /** The store as one process sees it. */
  open(process: SimProcess, faults: FaultPlan): EngineStore;
  /** A new operation, as the CLI creates it. */
  create(name: string, spec: Partial<OperationSpec>): TalosOperation;
  /** A change by a person. */
  edit(name: string, change: (operation: TalosOperation) => TalosOperation): void;
}

/** A store over the bundle that a world was born with. */
export function createSimStore(world: World<Mint>): SimStore {
  let version = 0;
  const { documents } = stockOf(world.mint);

  function put(operation: TalosOperation): TalosOperation {
    version += 1;
    const stored = { ...operation, metadata: { ...operation.metadata, resourceVersion: String(version) } };
    store.operations.set(operation.metadata.name, stored);
    return stored;
  }

  /** The same value until something is written: what the product derives from it, it derives once. */
  let state: ClusterState = { bundle: world.mint.bundle().bundle, previous: undefined, record: undefined };
  function readState(): ClusterState {
    const { bundle } = store.document;
    const { previous } = store;
    const record = store.record === undefined ? undefined : documents.record(store.record, bundle);
    const isSame = state.bundle === bundle && state.previous === previous && state.record === record;
    if (!isSame) state = { bundle, previous, record };
    return state;
  }

  const store: SimStore = {
    document: world.mint.bundle(),
    previous: undefined,
    record: undefined,
    operations: new Map(),
    audit: [],
    storage: new Map(),
    isDamaged: false,
    open: (process, faults) => openStore(world, store, { process, faults, put, readState, documents }),
    create(name, spec) {
      return put({
        apiVersion: API_VERSION,
        kind: 'TalosOperation',
        metadata: {
          name,
          uid: `uid-${name}-${version + 1}`,
          generation: 1,
          resourceVersion: '0',
          creationTimestamp: new Date(world.clock.now()).toISOString(),
          finalizers: [ROTATION_FINALIZER],
          annotations: {},
        },
        spec: { type: 'CARotation', paused: false, restartWorkloads: 'Never', previousBundle: 'Remove', ...spec },
        status: pendingStatus(),
      });
    },
    edit(name, change) {
      const current = store.operations.get(name);
      if (current !== undefined) put(change(current));
    },
  };
  return store;
}

interface Opened {
  readonly process: SimProcess;
  readonly faults: FaultPlan;
  readonly put: (operation: TalosOperation) => TalosOperation;
  readonly readState: () => ClusterState;
  readonly documents: Documents;
}

function openStore(
  world: World<Mint>,
  store: SimStore,
  { process, faults, put, readState, documents }: Opened,
): EngineStore {
  const write = <T>(name: string, perform: () => T): Promise<T> =>
    faults.make(process, {
      name: `store ${name}`,
      deadlineMs: 1_000,
      perform,
      canLand: () => false,
      refusal: () => new Error(`${name}: no space left on device`),
      silence: () => new Error(`${name}: input/output error`),
      fenced: () => new Error(`${name}: the lock of the store was taken over by another program`),
      // Somebody annotates the operation at the same moment.
      rival: () => {
        for (const each of store.operations.values()) put(each);
      },
    });
  const read = async <T>(take: () => T): Promise<T> => (process.isDead ? never() : take());

  return {
    endpoints: () => read(() => world.planes().map((machine) => machine.address)),
    readState: () => read(readState),
    writeRecord: (record) =>
      write('record', () => {
        const text = writeRotationRecord(record);
        if (store.record !== undefined && store.record !== text)
          throw new Error('a record of another operation stands');
        store.record = text;
      }),
    removeRecord: () =>
      write('no record', () => {
        store.record = undefined;
      }),
    replaceBundle: (expected, replacements) =>
      write('bundle', () => {
        const { bundle } = store.document;
        if (bundleFingerprint(bundle) !== expected) throw new Error('the bundle is not the one that was read');
        store.previous = bundle;
        store.document = documents.replaced(store.document, replacements);
      }),
    settlePrevious: () =>
      write('previous', () => {
        store.previous = undefined;
      }),
    readOperation: (name) => read(() => store.operations.get(name)),
    listOperations: () => read(() => [...store.operations.values()]),
    updateOperation: (operation, change) => {
      const { stage } = change.status ?? operation.status;
      if (stage !== operation.status.stage) faults.log.entered.set(stage, world.clock.monotonic());
      return write('status', () => {
        const { name, resourceVersion } = operation.metadata;
        const current = store.operations.get(name);
        if (current === undefined || current.metadata.resourceVersion !== resourceVersion)
          throw new StaleOperationError(name);
        const annotations = { ...current.metadata.annotations };
        if (change.dropHandoff === true) delete annotations[HANDOFF_ANNOTATION];
        const finalizers = [...(change.finalizers ?? current.metadata.finalizers)];
        const next = put({
          ...current,
          metadata: { ...current.metadata, annotations, finalizers },
          status: change.status ?? current.status,
        });
        if (next.metadata.deletionTimestamp !== undefined && finalizers.length === 0) store.operations.delete(name);
        return next;
      });
    },
    appendAudit: (entry) =>
      read(() => {
        // Written under the lock, before every effect: this is what fences a process that was overtaken.
        if (process.isSuperseded) throw new Error('audit: the lock of the store was taken over by another program');
        store.audit.push(entry);
      }),
  };
}
