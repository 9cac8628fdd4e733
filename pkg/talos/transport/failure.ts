import type { CallOutcome, TalosErrorKind } from '../errors.ts';

/** A failed connection or call, before it is known which machine and call it belongs to. */
export class TransportFailure extends Error {
  readonly kind: TalosErrorKind;
  readonly outcome: CallOutcome;

  constructor(kind: TalosErrorKind, outcome: CallOutcome, detail: string, cause?: unknown) {
    super(detail, { cause });
    this.name = 'TransportFailure';
    this.kind = kind;
    this.outcome = outcome;
  }
}

/** The code of a Node or OpenSSL error, empty when there is none. */
export function errorCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/** The text of any thrown value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
