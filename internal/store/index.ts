// Public.
export { type EmbeddedStore, type EmbeddedStoreOptions, openEmbeddedStore } from './embedded-store.ts';
export { fromFileSystem, StaleOperationError, StoreError, type StoreErrorKind, type WriteOutcome } from './error.ts';
// Internal: for tests and the simulated world.
export { createNodeFileSystem, type FileFacts, type StoreFileSystem } from './file-system.ts';
export type { HeldLock, LockOwner } from './lock.ts';
export { isStoreName } from './modes.ts';
export { isOperationName } from './operation-files.ts';
export { createProcesses, type Liveness, type Processes, type ProcessIdentity } from './process-identity.ts';
export type {
  AuditEntry,
  ClusterState,
  ClusterStore,
  CredentialName,
  NewOperation,
  OperationChange,
} from './store.ts';
