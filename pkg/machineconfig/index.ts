// Public: what other parts of Ichor build on.
export { MachineConfigError, type MachineConfigErrorKind, type Place } from './error.ts';
export {
  drift,
  explainStage,
  type OpenMachineConfig,
  openMachineConfig,
  readApiServerPort,
  readMachineConfig,
  renderStage,
  stageOf,
} from './machine-config.ts';
export type {
  CaChange,
  CaTargetName,
  Change,
  DriftItem,
  EncryptionChange,
  RenderStage,
  ServiceAccountChange,
  StageName,
  Standing,
  Target,
} from './model.ts';
export type { ConfigProblem } from './problems.ts';
export type { RenderOptions } from './render.ts';
export type { Role } from './role.ts';
export { TARGETS } from './targets/index.ts';
export { knowsTypedDocuments, parseTalosVersion, type TalosVersion } from './version.ts';
export type {
  CaView,
  ConfigShape,
  EncryptionRuleView,
  EtcdView,
  MachineConfigView,
  ServiceAccountView,
} from './view.ts';
export { decodeMachineConfig } from './yaml/source.ts';
