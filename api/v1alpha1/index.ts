export { type Abandonable, rotationAbandonable } from './abandonable.ts';
export {
  API_VERSION,
  type CaRotationStatus,
  type EvacuationStatus,
  HANDOFF_ANNOTATION,
  handoffToken,
  type OperationCondition,
  type OperationSpec,
  type OperationStatus,
  pendingStatus,
  ROTATION_FINALIZER,
  TalosOperation,
} from './operation.ts';
export { adviceFor, REASONS, type Reason } from './reasons.ts';
export { CA_STAGES, type CaStage, isAtLeast } from './stages.ts';
export { CA_TARGETS, type CaTarget, DEFAULT_CA_TARGETS, isCaTarget, sortCaTargets } from './targets.ts';
