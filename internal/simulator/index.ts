// Public: the simulated world and the runs in it.
export { createOnlooker } from './afterwards.ts';
export { CHECKERS } from './checkers/index.ts';
export { type ConfigurationOptions, writeConfiguration } from './configuration.ts';
export { createSimConnections } from './connections.ts';
export { editConfiguration, isEdited, setCutOff, startEtcd, stopEtcd } from './disturbances.ts';
export {
  createFaultPlan,
  createProcess,
  type Fault,
  type FaultPlan,
  OUTCOMES,
  type Outcome,
  outcomesOf,
  STORE_OUTCOMES,
} from './faults.ts';
export { createFleetCluster, type FleetCluster, type FleetOptions } from './fleet.ts';
export type { Happening } from './happenings.ts';
// Internal: for the lab and for tests of the world itself.
export type { CertificateUse, Holder, Issuer } from './issuer.ts';
export { type ApiReply, type ApiRequest, answer } from './kube-api.ts';
export type { SimMachine } from './machine.ts';
export type { OtherInputs } from './material.ts';
export { createMint, type Mint, WORLD_START } from './mint.ts';
export { pairsOfFaults, recoveryFaults, singleFaults } from './plans.ts';
export { createRandom, type Random } from './random.ts';
export { specOf } from './resources.ts';
export {
  type Checker,
  type Moment,
  type RunOptions,
  type RunResult,
  run,
  type Scenario,
  type Violation,
} from './run.ts';
export { createSimStore, type SimStore } from './store.ts';
export {
  applyConfiguration,
  configurationOf,
  containerId,
  containersOf,
  etcdAlarms,
  etcdMembers,
  etcdStatus,
  memberIdOf,
  planeOf,
  Refusal,
  type ServiceFact,
  serviceFacts,
} from './talos-answers.ts';
export { BRISK, MEASURED, type Span, type Timing } from './timing.ts';
export {
  beginReboot,
  isApiServerReady,
  isListening,
  powerOff,
  powerOn,
  reachesEtcd,
  restartKubelet,
  servingIssuer,
  storeConfiguration,
} from './transitions.ts';
export { createVirtualClock, sleepOn, type VirtualClock } from './virtual-clock.ts';
export {
  createWorld,
  type Foundation,
  foundWorld,
  type Placement,
  type TraceLine,
  type World,
  type WorldOptions,
} from './world.ts';
