import {
  type CertificateAndKey,
  keyFits,
  PkiError,
  parseCertificate,
  parsePrivateKey,
  parseServiceAccountKey,
  type ServiceAccountKey,
} from '../pki/index.ts';
import { BundleError, type Place } from './error.ts';

/** A PEM text and where it was read. */
export interface PlacedPem {
  readonly pem: string;
  readonly at: Place;
}

/**
 * A CA from its two texts: one certificate that is a CA, one private key, and the one fits the other.
 * Errors: {@link BundleError} `malformed` or `mismatch` at the text that is wrong.
 */
export function readCa(texts: { readonly certificate: PlacedPem; readonly key: PlacedPem }): CertificateAndKey {
  const certificate = placed(texts.certificate.at, () => parseCertificate(texts.certificate.pem));
  const key = placed(texts.key.at, () => parsePrivateKey(texts.key.pem));
  if (!certificate.isCa) {
    throw new BundleError(
      'malformed',
      texts.certificate.at,
      `the certificate ${certificate.fingerprint} is no CA (basic constraints)`,
    );
  }
  const ca = { certificate, key };
  checkFits(ca, texts.key.at);
  return ca;
}

/** Refuses a key that is not the one of its certificate. */
export function checkFits(ca: CertificateAndKey, at: Place): void {
  if (placed(at, () => keyFits(ca.certificate, ca.key))) return;
  throw new BundleError(
    'mismatch',
    at,
    `the key does not fit the certificate ${ca.certificate.fingerprint} (${ca.certificate.subject || 'empty subject'})`,
  );
}

/** A service-account key from its PEM text. Errors: {@link BundleError} `malformed`. */
export function readServiceAccountKey({ pem, at }: PlacedPem): ServiceAccountKey {
  return placed(at, () => parseServiceAccountKey(pem));
}

/** What every new CA must be before it takes the place of `old`: a CA, whole, and with another certificate and another key. */
export function checkReplacement(target: string, old: CertificateAndKey, fresh: CertificateAndKey, at: Place): void {
  if (!fresh.certificate.isCa) {
    throw new BundleError(
      'malformed',
      at,
      `the new ${target} certificate ${fresh.certificate.fingerprint} is no CA (basic constraints)`,
    );
  }
  checkFits(fresh, at);
  if (fresh.certificate.fingerprint === old.certificate.fingerprint) {
    throw new BundleError(
      'unchanged',
      at,
      `the new ${target} CA ${fresh.certificate.fingerprint} equals the one that it replaces`,
    );
  }
  if (fresh.certificate.publicKeyFingerprint === old.certificate.publicKeyFingerprint) {
    throw new BundleError(
      'unchanged',
      at,
      `the new ${target} CA has another certificate but the same key as the one that it replaces`,
    );
  }
}

/** PEM as a bundle stores it: base64 of the text, on one line. */
export function encodePem(pem: string): string {
  return Buffer.from(pem, 'utf8').toString('base64');
}

/** Gives an error of the PKI package its file, line and field. */
function placed<T>(at: Place, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof PkiError) throw new BundleError('malformed', at, cause.message);
    throw cause;
  }
}
