/**
 * Why a call to a machine failed, decided once, here, for the whole product.
 *
 * - `unreachable`: no TCP or TLS connection came about.
 * - `untrusted-server`: we refused the certificate that the machine served.
 * - `untrusted-client`: the machine refused our certificate.
 * - `maintenance`: the machine serves the maintenance API (it has no
 *   configuration, or lost it): a self-signed certificate, no client certificate
 *   asked for. Never send secrets there by yourself.
 * - `permission`: our role may not do this.
 * - `unsupported`: this version or kind of machine does not have the call, the
 *   mode or the resource.
 * - `invalid`: the machine understood the request and found it wrong.
 * - `not-found`: what was named does not exist.
 * - `conflict`: the state that the request was based on has changed.
 * - `locked`: another operation of the same kind is running; later it may work.
 * - `refused`: the machine said no for another reason, in its own words.
 * - `timeout`: the deadline passed.
 * - `cancelled`: the caller's signal fired.
 * - `interrupted`: the connection broke after the request may have left.
 * - `too-large`: the message is over the size limit.
 * - `malformed`: the machine answered something that we cannot read.
 */
export type TalosErrorKind =
  | 'unreachable'
  | 'untrusted-server'
  | 'untrusted-client'
  | 'maintenance'
  | 'permission'
  | 'unsupported'
  | 'invalid'
  | 'not-found'
  | 'conflict'
  | 'locked'
  | 'refused'
  | 'timeout'
  | 'cancelled'
  | 'interrupted'
  | 'too-large'
  | 'malformed';

/**
 * What is certain after a failed call. `not-done`: the machine did nothing and
 * will do nothing for this request. `unknown`: it may have done it, or may still.
 */
export type CallOutcome = 'not-done' | 'unknown';

/** A failed call to one machine. Carries no key bytes: neither request nor reply is part of it. */
export class TalosError extends Error {
  readonly kind: TalosErrorKind;
  /** Name of the machine, as given at construction of the client. */
  readonly machine: string;
  /** The call, for example `ApplyConfiguration` or `Get OSRootSecrets/os`. */
  readonly call: string;
  readonly outcome: CallOutcome;

  constructor(options: {
    kind: TalosErrorKind;
    machine: string;
    call: string;
    outcome: CallOutcome;
    detail: string;
    cause?: unknown;
  }) {
    super(`${options.kind}: ${options.call} on ${options.machine}: ${options.detail}`, { cause: options.cause });
    this.name = 'TalosError';
    this.kind = options.kind;
    this.machine = options.machine;
    this.call = options.call;
    this.outcome = options.outcome;
  }
}

/** True for a {@link TalosError}, of one of the given kinds when kinds are given. */
export function isTalosError(error: unknown, ...kinds: readonly TalosErrorKind[]): error is TalosError {
  return error instanceof TalosError && (kinds.length === 0 || kinds.includes(error.kind));
}
