import { errorCode, errorText } from './failure.ts';

/** Why a certificate was refused, by whichever side. */
export type TrustReason =
  | 'unknown-authority'
  | 'expired'
  | 'not-yet-valid'
  | 'wrong-name'
  | 'no-certificate'
  | 'not-accepted';

/**
 * TLS alerts by which a server refuses our certificate, as OpenSSL names them.
 * Go sends unknown_ca for a foreign CA, certificate_expired for a time outside
 * the validity on either side, bad_certificate for the rest, and
 * certificate_required when none came. In TLS 1.3 they arrive at the first read.
 */
const CLIENT_ALERTS: readonly (readonly [RegExp, TrustReason])[] = [
  [/ALERT_UNKNOWN_CA/, 'unknown-authority'],
  [/ALERT_CERTIFICATE_EXPIRED/, 'expired'],
  [/ALERT_CERTIFICATE_REQUIRED|ALERT_NO_CERTIFICATE/, 'no-certificate'],
  [/ALERT_(BAD|UNSUPPORTED)_CERTIFICATE|ALERT_CERTIFICATE_(UNKNOWN|REVOKED)|ALERT_ACCESS_DENIED/, 'not-accepted'],
];

/** The TLS library's own words for a refusal, without its line numbers. */
export function alertText(error: unknown): string {
  const reason = typeof error === 'object' && error !== null && 'reason' in error ? error.reason : undefined;
  return typeof reason === 'string' ? reason : errorText(error).trim();
}

/** How the server refused our certificate; `undefined` when the error is something else. */
export function clientRefusal(error: unknown): TrustReason | undefined {
  const code = errorCode(error);
  return CLIENT_ALERTS.find(([pattern]) => pattern.test(code))?.[1];
}

/** Why we refuse the served certificate, from the verification error of OpenSSL or Node. */
export function serverRefusal(code: string): TrustReason {
  if (code === 'CERT_HAS_EXPIRED') return 'expired';
  if (code === 'CERT_NOT_YET_VALID') return 'not-yet-valid';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'wrong-name';
  // Among them CERT_SIGNATURE_FAILURE: old and new CA may share the subject, so a leaf of one can be tried on the other.
  return 'unknown-authority';
}

/** What to read into a failed connection that is no matter of trust. */
export function connectionTrouble(error: unknown): string {
  const code = errorCode(error);
  if (code === 'ECONNREFUSED') return 'connection refused; nothing listens there';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name does not resolve';
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return 'no route to the address';
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'the connection was closed before it was set up';
  if (code === 'ERR_CLOSED_AFTER_HANDSHAKE') {
    return 'it hung up right after the TLS handshake: it is going down, or refuses our certificate without saying so';
  }
  if (/WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG|UNEXPECTED_MESSAGE/.test(code)) {
    return 'what listens there does not speak TLS';
  }
  if (/NO_APPLICATION_PROTOCOL/.test(code)) return 'what listens there does not speak HTTP/2';
  return errorText(error);
}
