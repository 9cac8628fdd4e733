/** What went wrong in a store; a caller may decide by it. */
export type StoreErrorKind =
  /** A file that must be there is not. */
  | 'missing'
  /** A file says something that cannot be understood. */
  | 'malformed'
  /** Something of that name, or another record, is there already. */
  | 'exists'
  /** The lock is held by somebody who lives, or may live. */
  | 'locked'
  /** The lock was ours and is not any more: stop acting. */
  | 'lock-lost'
  /** A write that needs the lock was asked for without it. */
  | 'not-locked'
  /** What is stored is not what the caller expects; nothing was changed. */
  | 'conflict'
  /** A file or folder belongs to another user, or is a symbolic link. */
  | 'foreign'
  | 'disk-full'
  | 'read-only'
  | 'denied'
  /** Anything else that the file system says. */
  | 'io';

/** Whether a write that failed left everything as it was, or may have been done. */
export type WriteOutcome = 'not-done' | 'unknown';

/** Anything that a store refuses or fails at. The message names the file and what to do; it never holds a secret. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly kind: StoreErrorKind;
  readonly path: string;
  readonly outcome: WriteOutcome;

  constructor(
    kind: StoreErrorKind,
    path: string,
    problem: string,
    options: { readonly outcome?: WriteOutcome; readonly cause?: unknown } = {},
  ) {
    super(`${path}: ${problem}`, options.cause === undefined ? {} : { cause: options.cause });
    this.kind = kind;
    this.path = path;
    this.outcome = options.outcome ?? 'not-done';
  }
}

/** There is no `secrets.yaml` at this path: it is no folder of a cluster, or the wrong one. */
export function missingBundle(path: string): StoreError {
  return new StoreError(
    'missing',
    path,
    'there is no bundle. Put the secrets.yaml of this cluster here: secrets are never made anew for a cluster that exists',
  );
}

/** An operation was written by somebody else between our read and our write: look again. */
export class StaleOperationError extends Error {
  override readonly name = 'StaleOperationError';

  constructor(operation: string) {
    super(`operation ${operation} was changed by somebody else; look again`);
  }
}

const KINDS: Readonly<Record<string, StoreErrorKind>> = {
  ENOSPC: 'disk-full',
  EDQUOT: 'disk-full',
  EROFS: 'read-only',
  EACCES: 'denied',
  EPERM: 'denied',
};

const ADVICE: Readonly<Partial<Record<StoreErrorKind, string>>> = {
  'disk-full': 'the disk is full. Make room and run it again',
  'read-only': 'the file system is read-only. Make it writable (was there an error on the disk?) and run it again',
  denied: 'access is denied. Run it as the owner of the folder',
};

/** Turns an error of the file system into ours. `doing` completes the sentence "could not …". */
export function fromFileSystem(
  cause: unknown,
  path: string,
  options: { doing: string; outcome: WriteOutcome },
): unknown {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined;
  if (code === undefined || cause instanceof StoreError) return cause;
  const kind = KINDS[code] ?? 'io';
  const state =
    options.outcome === 'not-done' ? 'Nothing was changed' : 'It is not known whether the change is durable';
  const reason = ADVICE[kind] ?? `the file system answered ${code}`;
  return new StoreError(kind, path, `could not ${options.doing}: ${reason}. ${state}`, {
    outcome: options.outcome,
    cause,
  });
}
