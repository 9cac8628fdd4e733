import { redactKeys } from '../../pki/index.ts';
import type { CallOutcome, TalosErrorKind } from '../errors.ts';
import { TransportFailure } from './failure.ts';

/** Status codes of gRPC, by number. */
const OK = 0;
const CANCELLED = 1;
const UNKNOWN = 2;
const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;
const OUT_OF_RANGE = 11;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;

interface Verdict {
  readonly kind: TalosErrorKind;
  readonly outcome: CallOutcome;
}

/**
 * What a status that the machine itself sent means. A refusal before anything was
 * done is `not-done`; plain Go errors arrive as UNKNOWN and may come from half way
 * through, so they are `unknown`, except for the texts that Talos gives before it
 * starts anything.
 */
const VERDICTS: Readonly<Record<number, Verdict>> = {
  [CANCELLED]: { kind: 'interrupted', outcome: 'unknown' },
  [INVALID_ARGUMENT]: { kind: 'invalid', outcome: 'not-done' },
  [DEADLINE_EXCEEDED]: { kind: 'timeout', outcome: 'unknown' },
  [NOT_FOUND]: { kind: 'not-found', outcome: 'not-done' },
  [ALREADY_EXISTS]: { kind: 'conflict', outcome: 'not-done' },
  [PERMISSION_DENIED]: { kind: 'permission', outcome: 'not-done' },
  [RESOURCE_EXHAUSTED]: { kind: 'too-large', outcome: 'not-done' },
  [FAILED_PRECONDITION]: { kind: 'refused', outcome: 'not-done' },
  [ABORTED]: { kind: 'conflict', outcome: 'not-done' },
  [OUT_OF_RANGE]: { kind: 'invalid', outcome: 'not-done' },
  [UNIMPLEMENTED]: { kind: 'unsupported', outcome: 'not-done' },
  [UNAUTHENTICATED]: { kind: 'permission', outcome: 'not-done' },
};

/** Texts that say more than the code they come with. */
const BY_TEXT: readonly { readonly code: number; readonly text: RegExp; readonly verdict: Verdict }[] = [
  // An unknown type or namespace of an older or newer Talos (internal/app/resources).
  { code: PERMISSION_DENIED, text: /is not supported$/, verdict: { kind: 'unsupported', outcome: 'not-done' } },
  { code: FAILED_PRECONDITION, text: /already in progress|locked/i, verdict: { kind: 'locked', outcome: 'not-done' } },
  { code: UNKNOWN, text: /doesn't support \w+ operation via API/, verdict: { kind: 'refused', outcome: 'not-done' } },
  { code: UNKNOWN, text: /service "[^"]*" not defined/, verdict: { kind: 'not-found', outcome: 'not-done' } },
  { code: UNKNOWN, text: /^path must be a regular file/, verdict: { kind: 'invalid', outcome: 'not-done' } },
  { code: UNKNOWN, text: /only one member/, verdict: { kind: 'refused', outcome: 'not-done' } },
  { code: UNKNOWN, text: /\block(?:ed)?\b/i, verdict: { kind: 'locked', outcome: 'unknown' } },
];

/** The failure for a gRPC status, `undefined` for OK. `message` is already percent-decoded. */
export function statusFailure(code: number, message: string): TransportFailure | undefined {
  if (code === OK) return undefined;
  const byText = BY_TEXT.find((entry) => entry.code === code && entry.text.test(message));
  const verdict = byText?.verdict ?? VERDICTS[code] ?? { kind: 'refused', outcome: 'unknown' };
  // Talos quotes the part of a configuration that it does not accept, an unknown `key` beside an accepted CA with its value.
  const said = message === '' ? `gRPC status ${code}` : redactKeys(message);
  return new TransportFailure(verdict.kind, verdict.outcome, said);
}
