// Public: what other parts of Ichor build on.
export { type AccessAnswer, type AccessQuestion, mayI, whoAmI } from './access.ts';
export { type AggregatorAuth, deleteAggregatorAuth, readAggregatorAuth } from './aggregator-auth.ts';
export { type ApiService, listApiServices } from './api-services.ts';
export {
  type CallOptions,
  type ContentType,
  type Credentials,
  createKubeClient,
  type KubeClient,
  type KubeClientOptions,
  type KubeRequest,
  pathOf,
  type QueryValue,
  type ResolvedCredentials,
  type WatchEvent,
  type WatchRequest,
} from './client.ts';
export { type CordonRequest, type CordonResult, cordonNode, type UncordonResult, uncordonNode } from './cordon.ts';
export { listSigningRequests, type SigningRequest } from './csrs.ts';
export { drainRound, type HeldPod } from './drain.ts';
export { type DrainOptions, type DrainPlan, type EvictedPod, planDrain, type StayingPod } from './drain-plan.ts';
export { withDryRun } from './dry-run.ts';
export {
  isKubeError,
  isTransientForHandoff,
  KubeError,
  type KubeErrorFacts,
  type KubeErrorKind,
  type StatusCause,
} from './errors.ts';
export { createEvent, type KubeEvent } from './events.ts';
export { type EvictionResult, evictPod, type PodName } from './evict.ts';
export { type ApiServerHealth, readApiServerHealth } from './health.ts';
export { fromKubeconfig, KubeconfigError, type KubeconfigOptions } from './kubeconfig.ts';
export {
  createLease,
  deleteLease,
  type Lease,
  type LeaseName,
  type LeaseSpec,
  listNodeHeartbeats,
  type NodeHeartbeat,
  readLease,
  updateLease,
} from './leases.ts';
export { type CompleteList, type ListRequest, listAll } from './lists.ts';
// Internal: for the simulated worlds and for tests, which must answer as an API server does.
export {
  CORDONED_BY,
  listNodes,
  type NodeView,
  type ReadinessBounds,
  readNode,
  toNodeView,
  whyNotReady,
} from './nodes.ts';
export type {
  Condition,
  ConfigMapObject,
  DisruptionBudgetObject,
  KubeObject,
  LabelSelector,
  LeaseObject,
  NodeObject,
  ObjectMeta,
  OwnerReference,
  PodObject,
  WorkloadObject,
} from './objects.ts';
export { listStalePods, type OwnerKind, type StalePods, type StaleQuery } from './owners.ts';
export { listPods, podsOnNode } from './pods.ts';
export { listRootCas, type NamespaceRootCa } from './root-ca.ts';
export { selects } from './selectors.ts';
export { listTalosAccess, readTalosAccess, type TalosAccess, type TalosAccessSecret } from './talos-access.ts';
export { parseTime, toMicroTime, toTime } from './times.ts';
export {
  type ExhaustedBudget,
  exhaustedBudget,
  type RolloutState,
  readWorkload,
  restartAskedAt,
  restartWorkload,
  rolloutState,
  type WorkloadName,
  whyNotRestartable,
} from './workloads.ts';
