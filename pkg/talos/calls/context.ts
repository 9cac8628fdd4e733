import type { Metadata } from '../../../proto/generated/talos/common.ts';
import type { CallKind, Invoker } from '../invoke.ts';
import type { Deadlines } from '../machine.ts';
import { TransportFailure } from '../transport/failure.ts';
import { statusFailure } from '../transport/status.ts';

/** What every group of calls is made from. */
export interface CallContext {
  readonly invoker: Invoker;
  readonly deadlines: Deadlines;
  readonly now: () => number;
}

/** The part of a reply that one machine contributed. */
interface FromMachine {
  readonly metadata: Metadata | undefined;
}

/**
 * The one answer inside a unary reply. Machines wrap every answer in a list, which
 * has one entry when the machine was reached directly.
 *
 * @throws {TalosError} `malformed` for another number of entries; the error that an entry carries
 */
export function only<T extends FromMachine>(invoker: Invoker, kind: CallKind, messages: readonly T[]): T {
  const [message] = messages;
  if (message === undefined || messages.length > 1) {
    const detail = `expected the answer of one machine, got ${messages.length}`;
    throw invoker.failure(kind, new TransportFailure('malformed', 'unknown', detail));
  }
  refuseError(invoker, kind, message);
  return message;
}

/** Throws the error that a message carries instead of an answer. */
export function refuseError(invoker: Invoker, kind: CallKind, message: FromMachine): void {
  const metadata = message.metadata;
  if (metadata === undefined || metadata.error === '') return;
  const failure = statusFailure(metadata.status?.code ?? 2, metadata.status?.message ?? metadata.error);
  throw invoker.failure(kind, failure ?? new TransportFailure('refused', 'unknown', metadata.error));
}

/** ms since the epoch of a timestamp on the wire; 0 when it is unset. */
export function milliseconds(date: Date | undefined): number {
  return date?.getTime() ?? 0;
}

/** A duration for the wire. */
export function duration(ms: number): { seconds: bigint; nanos: number } {
  const seconds = Math.trunc(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1_000_000) };
}
