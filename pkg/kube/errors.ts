/**
 * What went wrong, in the words that the callers decide on.
 *
 * - `unreachable`: no TCP connection, or it broke (refused, reset, no route, name not found).
 * - `untrusted-server`: a TLS server answered, and its certificate is not by a CA that we trust or not for this
 *   address. Evidence in a CA rotation; never a machine that is booting.
 * - `untrusted-client`: the server refused our certificate in the handshake.
 * - `unauthorized` (401), `forbidden` (403, also a webhook that said no), `not-found` (404, the object),
 *   `conflict` (409, resource version, UID or state), `already-exists` (409), `invalid` (400, 405, 406, 413, 415, 422),
 *   `expired` (410: resource version or continue token too old), `too-many-requests` (429).
 * - `webhook`: the API server could not call an admission webhook. Nothing was stored.
 * - `discovery`: the server does not serve this resource type, or not yet (it is starting, or the definition is missing).
 * - `timeout`: our deadline passed, or the server gave up (504).
 * - `server-error`: any other 5xx. `too-large`: the reply passed the size limit. `unexpected-reply`: not what an API
 *   server answers. `cancelled`: the caller's signal.
 */
export type KubeErrorKind =
  | 'unreachable'
  | 'untrusted-server'
  | 'untrusted-client'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'already-exists'
  | 'invalid'
  | 'expired'
  | 'too-many-requests'
  | 'webhook'
  | 'discovery'
  | 'timeout'
  | 'server-error'
  | 'too-large'
  | 'unexpected-reply'
  | 'cancelled';

/** One machine-readable reason inside a Kubernetes Status, such as `DisruptionBudget` of a refused eviction. */
export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

/** Everything of a KubeError except its text. */
export interface KubeErrorFacts {
  readonly kind: KubeErrorKind;
  /** The API server asked, `https://host:port`. */
  readonly server: string;
  /** What was being done, in words that follow "could not": `list the nodes`. */
  readonly doing: string;
  /** What was found, as one clause. */
  readonly found: string;
  /**
   * `not-done`: the request changed nothing for certain (a read, never sent, or refused by the server).
   * `unknown`: it may have been done; read before doing it again.
   */
  readonly outcome: 'not-done' | 'unknown';
  /** The HTTP status, when the server answered. */
  readonly status?: number | undefined;
  /** `reason` of the Kubernetes Status, when there was one. */
  readonly reason?: string | undefined;
  readonly causes?: readonly StatusCause[] | undefined;
  /** How long the server asks us to wait before the next try. */
  readonly retryAfterMs?: number | undefined;
  /** SHA-256 of the server certificate that was not trusted, lower-case hex. */
  readonly presented?: string | undefined;
  readonly cause?: unknown;
}

/** Kinds that can pass by themselves, without anybody changing a certificate, a permission or an object. */
const TRANSIENT: ReadonlySet<KubeErrorKind> = new Set([
  'unreachable',
  'too-many-requests',
  'webhook',
  'discovery',
  'timeout',
  'server-error',
]);

/** The only error that `pkg/kube` throws for a call to an API server. */
export class KubeError extends Error {
  readonly kind: KubeErrorKind;
  readonly server: string;
  readonly doing: string;
  readonly found: string;
  readonly outcome: 'not-done' | 'unknown';
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly causes: readonly StatusCause[];
  readonly retryAfterMs: number | undefined;
  readonly presented: string | undefined;
  /** True when the same call may well succeed later with nothing changed by anybody. */
  readonly transient: boolean;

  constructor(facts: KubeErrorFacts) {
    super(`${facts.kind}: could not ${facts.doing} on ${facts.server}: ${facts.found}`, { cause: facts.cause });
    this.name = 'KubeError';
    this.kind = facts.kind;
    this.server = facts.server;
    this.doing = facts.doing;
    this.found = facts.found;
    this.outcome = facts.outcome;
    this.status = facts.status;
    this.reason = facts.reason;
    this.causes = facts.causes ?? [];
    this.retryAfterMs = facts.retryAfterMs;
    this.presented = facts.presented;
    this.transient = TRANSIENT.has(facts.kind);
  }
}

/** True for a KubeError of one of the given kinds. */
export function isKubeError(error: unknown, ...kinds: readonly KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** Kinds in which an API server that is restarting shows itself to a client. */
const WAITED_FOR_IN_HANDOFF: ReadonlySet<KubeErrorKind> = new Set([
  'unreachable',
  'timeout',
  'too-many-requests',
  'webhook',
  'discovery',
]);

/**
 * Whether the credential hand-off waits for this error to pass (for up to ten minutes) or stops at once.
 *
 * Waited for: no connection in whatever form a restart of the API server gives it (refused, broken, timed out, asked to
 * come back later), `failed calling webhook` unless the webhook itself answered Forbidden or Invalid, and a resource
 * type that is not served yet. Everything else is final: a certificate that does not authenticate, Forbidden, NotFound,
 * Invalid, a webhook's refusal, and errors that are not ours.
 * Source: the amendments to the CA rotation decision (points 4 of the first, 1 of the second, and the third).
 */
export function isTransientForHandoff(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  return WAITED_FOR_IN_HANDOFF.has(error.kind) || (error.status !== undefined && [502, 503].includes(error.status));
}
