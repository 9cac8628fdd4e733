import { TalosError } from './errors.ts';
import type { CallOptions } from './machine.ts';
import { exchange, type Method } from './transport/call.ts';
import type { Channel, Lease } from './transport/channel.ts';
import { errorText, TransportFailure } from './transport/failure.ts';
import { startLimit } from './transport/limit.ts';

/** How one kind of call is made. */
export interface CallKind {
  /** Name for messages, such as `ApplyConfiguration`. */
  readonly call: string;
  readonly deadlineMs: number;
  /**
   * The call changes the machine: it goes over a connection of its own. Its opening
   * proves that the machine is there and takes us, so what fails before is `not-done`;
   * and it is torn down at once when the outcome is unknown, with what was not sent.
   */
  readonly change?: boolean;
}

/** Makes calls to one machine. */
export interface Invoker {
  /** One request, one reply. */
  unary<Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    kind: CallKind,
    options?: CallOptions,
  ): Promise<Reply>;
  /** One request, any number of replies. */
  stream<Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    kind: CallKind,
    options?: CallOptions,
  ): AsyncGenerator<Reply, void, undefined>;
  /** The error of this machine for a reply that came but cannot be used. */
  failure(kind: CallKind, failure: TransportFailure): TalosError;
}

/** Binds calls to one machine and its channel. `ended` cancels every call when the client is closed. */
export function createInvoker(
  machine: { readonly name: string; readonly where: string },
  channel: Channel,
  ended: AbortSignal,
): Invoker {
  function failure(kind: CallKind, cause: TransportFailure): TalosError {
    return new TalosError({
      kind: cause.kind,
      outcome: cause.outcome,
      machine: machine.name,
      call: kind.call,
      detail: cause.kind === 'unreachable' ? `${cause.message} (${machine.where})` : cause.message,
      cause,
    });
  }

  async function* stream<Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    kind: CallKind,
    options: CallOptions = {},
  ) {
    const limit = startLimit(options.deadlineMs ?? kind.deadlineMs, [options.signal, ended]);
    const fresh = options.fresh ?? kind.change ?? false;
    let lease: Lease | undefined;
    let broken = false;
    try {
      lease = await channel.acquire({ fresh, signal: limit.signal });
      yield* exchange(lease.connection, method, request, { signal: limit.signal, timeoutMs: limit.remainingMs() });
    } catch (error) {
      const cause = lease === undefined ? beforeSending(error) : afterSending(error);
      broken = cause.kind === 'interrupted' || cause.kind === 'timeout' || (fresh && cause.outcome === 'unknown');
      throw failure(kind, cause);
    } finally {
      limit.release();
      lease?.release(broken);
    }
  }

  return {
    failure,
    stream,
    async unary(method, request, kind, options) {
      // Read to the end: the status comes after the reply.
      const replies = await collect(stream(method, request, kind, options));
      const [reply] = replies;
      if (reply === undefined || replies.length > 1) {
        const detail = `expected one reply, got ${replies.length}`;
        throw failure(kind, new TransportFailure('malformed', 'unknown', detail));
      }
      return reply;
    },
  };
}

/** All replies of a stream that ends. */
export async function collect<Reply>(replies: AsyncIterable<Reply>): Promise<Reply[]> {
  const collected: Reply[] = [];
  for await (const reply of replies) collected.push(reply);
  return collected;
}

/** Nothing has left: whatever happened, the machine did not do it. */
function beforeSending(error: unknown): TransportFailure {
  if (!(error instanceof TransportFailure)) return new TransportFailure('invalid', 'not-done', errorText(error), error);
  if (error.kind === 'timeout') {
    return new TransportFailure('unreachable', 'not-done', `no connection came about: ${error.message}`, error);
  }
  return new TransportFailure(error.kind, 'not-done', error.message, error.cause);
}

function afterSending(error: unknown): TransportFailure {
  return error instanceof TransportFailure
    ? error
    : new TransportFailure('interrupted', 'unknown', errorText(error), error);
}
