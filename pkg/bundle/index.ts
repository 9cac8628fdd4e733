// Public.
export {
  type BundleReplacements,
  CA_TARGETS,
  caOf,
  type KeyTarget,
  type SecretsBundle,
} from './bundle.ts';
export { type BundleDocument, type OpenBundleOptions, openBundle } from './document.ts';
export { type AgeCredentials, createEnvelope, type Envelope, isAgeEncrypted } from './envelope.ts';
export { BundleError, type BundleErrorKind } from './error.ts';
export { backupKey, bundleFingerprint, exportFingerprint } from './fingerprint.ts';
export { bundlePartsOf } from './from-config.ts';
export {
  createKeyRotationRecord,
  type KeyRotationRecord,
  keyRecordStanding,
  parseKeyRotationRecord,
  writeKeyRotationRecord,
} from './key-rotation-record.ts';
export type { BundleFormat } from './layout.ts';
export { type BundleParts, bundleFromParts } from './parts.ts';
export {
  createRotationRecord,
  parseRotationRecord,
  type RotationRecord,
  recordStanding,
  targetsOf,
  writeRotationRecord,
} from './rotation-record.ts';
