// Public: what the CLI, the simulator and the other home build on.

export { StaleOperationError } from '../store/index.ts';
export { type Announcer, createAnnouncer } from './announcer.ts';
export { createConnections } from './connections.ts';
// Internal: for parts that look at a cluster without an operation, and for tests.
export { createIdentities } from './identities.ts';
export { kubeletsSignedBy } from './kubelet-serving.ts';
export { type ListedMachine, listMachines } from './machines.ts';
export { createMemory, observe } from './observe.ts';
export { parseOwner } from './observe-kubernetes.ts';
export { runningApiServers } from './observe-machine.ts';
export { type Located, locate, type UnreachableEndpoint, unreachableEndpoints } from './observe-refusals.ts';
export type {
  AuditEntry,
  ClusterState,
  Connections,
  EngineStore,
  EvacuationHook,
  HookCall,
  HttpsOutcome,
  HttpsProbe,
  OperationChange,
  Ports,
} from './ports.ts';
export { createEngine, type Engine, type EngineOptions, type Reconciled } from './reconcile.ts';
export { saysTheSame } from './report.ts';
export { type RunEnd, type RunOptions, runOperation } from './run.ts';
export { createSession, type Readers, type Session } from './session.ts';
export { type ConfigReader, createConfigReader, digestOf } from './standing.ts';
