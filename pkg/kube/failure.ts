import type { X509Certificate } from 'node:crypto';
import type { Certificate } from '../pki/index.ts';
import type { KubeErrorKind } from './errors.ts';

/** Why no connection came about, before it is known which call wanted it. */
export class ConnectFailure extends Error {
  readonly kind: KubeErrorKind;
  readonly presented: string | undefined;
  /** OpenSSL found an issuer by name whose key did not fit; another one of the same name might. */
  readonly issuerAmbiguous: boolean;

  constructor(
    kind: KubeErrorKind,
    found: string,
    facts: { presented?: string; issuerAmbiguous?: boolean; cause?: unknown },
  ) {
    super(found, { cause: facts.cause });
    this.name = 'ConnectFailure';
    this.kind = kind;
    this.presented = facts.presented;
    this.issuerAmbiguous = facts.issuerAmbiguous ?? false;
  }
}

/** What is known when a connection fails. */
export interface ConnectState {
  /** Whether TCP was established. */
  readonly connected: boolean;
  readonly trust: readonly Certificate[];
  readonly connectDeadlineMs: number;
}

interface Unverified {
  readonly unauthorized: unknown;
  readonly wrongName: Error | undefined;
  readonly peer: X509Certificate | undefined;
  readonly expectedName: string;
}

/** OpenSSL's answers when the key of the issuer that it picked does not fit. */
const WRONG_ISSUER = new Set(['CERT_SIGNATURE_FAILURE', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'AKID_SKID_MISMATCH']);

/** TLS alerts with which a server refuses a client's certificate (RFC 8446, 6.2), as OpenSSL names them. */
const REFUSED_CLIENT =
  /ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_[A-Z]+|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR|NO_CERTIFICATE)/;

/** Sorts whatever ended a connection attempt into a kind, with words for people. */
export function connectFailure(error: unknown, state: ConnectState): Error {
  if (error === 'deadline') {
    const within = `within ${state.connectDeadlineMs} ms`;
    return state.connected
      ? new ConnectFailure('timeout', `TCP was connected and the TLS handshake was not answered ${within}`, {})
      : new ConnectFailure('unreachable', `no TCP connection ${within}`, {});
  }
  if (isUnverified(error)) return unverified(error, state.trust);
  return socketFailure(error);
}

/** The same for a connection that breaks later; never `untrusted-server`, as that is settled before. */
export function socketFailure(error: unknown): ConnectFailure {
  const { code, message } = codeOf(error);
  if (REFUSED_CLIENT.test(code)) {
    return new ConnectFailure('untrusted-client', `the server refused our client certificate (${code})`, {
      cause: error,
    });
  }
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') {
    return new ConnectFailure('unexpected-reply', `what answered does not speak TLS as we do (${message})`, {
      cause: error,
    });
  }
  return new ConnectFailure('unreachable', code === '' ? message : `${code} (${message})`, { cause: error });
}

function unverified(error: Unverified, trust: readonly Certificate[]): ConnectFailure {
  const code = String(error.unauthorized);
  const presented = error.peer?.fingerprint256.replaceAll(':', '').toLowerCase();
  const who = presented === undefined ? 'its certificate' : `its certificate (SHA-256 ${presented})`;
  const found =
    error.wrongName === undefined
      ? `${who} does not verify (${code}) against the trusted CAs ${trust.map((ca) => ca.fingerprint).join(', ')}`
      : `${who} is not for ${error.expectedName}; it is for ${error.peer?.subjectAltName ?? 'no name at all'}`;
  return new ConnectFailure('untrusted-server', found, {
    ...(presented === undefined ? {} : { presented }),
    issuerAmbiguous: WRONG_ISSUER.has(code),
    cause: error.wrongName ?? error.unauthorized,
  });
}

function isUnverified(error: unknown): error is Unverified {
  return typeof error === 'object' && error !== null && 'unauthorized' in error;
}

function codeOf(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  // A name with several addresses fails with one error for each, and no message of its own.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const named = first instanceof Error ? first : error;
  return { code: 'code' in named ? String(named.code) : '', message: named.message };
}
