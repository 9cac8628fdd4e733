// Public: what other parts of Ichor build on.
export {
  type BundleProblem,
  type BundleScan,
  type Certificate,
  type CertificateAlgorithm,
  type CertificateAndKey,
  type Fingerprint,
  type KeyAlgorithm,
  parseCertificate,
  parseCertificates,
  scanCertificates,
  writeCertificates,
} from './certificate.ts';
export { PkiError, type PkiErrorDetails, type PkiErrorKind } from './errors.ts';
export { type PemBlock, type PemProblem, type PemScan, parsePem, scanPem, writePemBlock } from './pem.ts';
export { type PrivateKeyPem, Secret } from './secret.ts';
