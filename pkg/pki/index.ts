// Public: what other parts of Ichor build on.
export { type CaTarget, type CreateCaOptions, createCa } from './ca.ts';
export {
  type BundleProblem,
  type BundleScan,
  type Certificate,
  type CertificateAlgorithm,
  type CertificateAndKey,
  certificateFromDer,
  type Fingerprint,
  type KeyAlgorithm,
  parseCertificate,
  parseCertificates,
  scanCertificates,
  writeCertificates,
} from './certificate.ts';
export { type BundleDifference, compareBundles, isSubset, sameBundle } from './compare.ts';
export {
  createEncryptionKey,
  type EncryptionKey,
  type EncryptionProvider,
  parseEncryptionKey,
} from './encryption-key.ts';
export { PkiError, type PkiErrorDetails, type PkiErrorKind } from './errors.ts';
export { type CaSource, type ImportCaOptions, importCa } from './import.ts';
export {
  etcdClientProfile,
  frontProxyClientProfile,
  issueLeaf,
  kubernetesAdminProfile,
  type LeafProfile,
  probeProfile,
  signRequest,
  talosAdminProfile,
} from './leaf.ts';
export { type LintCaOptions, type LintProblem, type LintRule, lintCa } from './lint.ts';
export { type CaChange, type LintRotationOptions, lintRotation } from './lint-rotation.ts';
// Internal: for readers and writers of whole files, and for tests.
export { type PemBlock, type PemProblem, type PemScan, parsePem, scanPem, writePemBlock } from './pem.ts';
export {
  keyAlgorithm,
  keyFingerprint,
  keyFits,
  keyObjectOf,
  parsePrivateKey,
  toPkcs8,
  writePrivateKey,
} from './private-key.ts';
export { redactKeys } from './redact.ts';
export { type PrivateKeyPem, Secret } from './secret.ts';
export {
  createServiceAccountKey,
  type PublicKey,
  parsePublicKeys,
  parseServiceAccountKey,
  type ServiceAccountKey,
} from './service-account-key.ts';
export type { NameParts } from './sign.ts';
export { type VerifyOptions, type VerifyReason, type VerifyResult, verifyChain } from './verify.ts';
export { type KeyUsageName, readX509, type X509Fields } from './x509-fields.ts';
