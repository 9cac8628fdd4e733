// Public: what the CLI, the simulator and the other home build on.
export { createConnections } from './connections.ts';
// Internal: for parts that look at a cluster without an operation, and for tests.
export { createIdentities } from './identities.ts';
export { type ListedMachine, listMachines } from './machines.ts';
export { createMemory, observe } from './observe.ts';
export {
  type AuditEntry,
  type ClusterState,
  type Connections,
  type EngineStore,
  type EvacuationHook,
  type HttpsOutcome,
  type HttpsProbe,
  type OperationChange,
  type Ports,
  StaleOperationError,
} from './ports.ts';
export { createEngine, type Engine, type EngineOptions, type Reconciled } from './reconcile.ts';
export { type RunEnd, type RunOptions, runOperation } from './run.ts';
export { createSession, type Session } from './session.ts';
