import type { SecureContext } from 'node:tls';
import type { Identity } from '../machine.ts';
import { type Connection, openConnection } from './connection.ts';
import { TransportFailure } from './failure.ts';
import { type Endpoint, secureContext } from './socket.ts';

/** A connection lent to one call. */
export interface Lease {
  readonly connection: Connection;
  /** Gives it back. `broken`: nobody should use it again; a connection of one's own is then torn down at once. */
  release(broken: boolean): void;
}

/** The connections to one machine: a shared one that is opened when needed, and one's own on request. */
export interface Channel {
  acquire(options: { readonly fresh: boolean; readonly signal: AbortSignal }): Promise<Lease>;
  use(identity: Identity): void;
  reconnect(): void;
  close(): void;
}

/** One attempt to open the shared connection, and how many calls wait for it. */
interface Attempt {
  readonly connection: Promise<Connection>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Keeps at most one shared connection. There is no back-off and no repetition: an
 * attempt that fails fails the calls that wait for it, and the next call makes the
 * next attempt.
 */
export function createChannel(endpoint: Endpoint, initial: Identity): Channel {
  let identity = initial;
  let context: SecureContext | undefined;
  let shared: Connection | undefined;
  let attempt: Attempt | undefined;
  let closed = false;

  function open(signal: AbortSignal): Promise<Connection> {
    context ??= secureContext(identity.trust, identity.credentials);
    return openConnection(endpoint, context, { trust: identity.trust, signal });
  }

  function drop(): void {
    shared?.retire();
    shared = undefined;
    attempt = undefined;
  }

  async function join(signal: AbortSignal): Promise<Connection> {
    if (shared?.usable()) return shared;
    shared?.retire();
    shared = undefined;
    attempt ??= startAttempt(open);
    const mine = attempt;
    mine.waiting += 1;
    try {
      const connection = await orAborted(mine.connection, signal);
      if (attempt === mine) shared = connection;
      return connection;
    } finally {
      mine.waiting -= 1;
      if (attempt === mine && (mine.waiting === 0 || shared !== undefined)) attempt = undefined;
      if (mine.waiting === 0) abandon(mine);
    }
  }

  /** Ends an attempt that nobody waits for, and a connection that came too late. */
  function abandon(lonely: Attempt): void {
    lonely.controller.abort(new TransportFailure('cancelled', 'not-done', 'nobody waits for it'));
    lonely.connection.then(
      (connection) => connection !== shared && connection.retire(),
      () => {},
    );
  }

  return {
    async acquire({ fresh, signal }) {
      if (closed) throw new TransportFailure('cancelled', 'not-done', 'the client was closed');
      if (signal.aborted) throw signal.reason;
      if (fresh) {
        const connection = await open(signal);
        return { connection, release: (broken) => (broken ? connection.reset() : connection.retire()) };
      }
      const connection = await join(signal);
      return {
        connection,
        release(broken) {
          if (broken && shared === connection) drop();
          // Replaced while this call ran: it may have been the last to use it.
          else if (shared !== connection) connection.retire();
        },
      };
    },
    use(next) {
      identity = next;
      context = undefined;
      drop();
    },
    reconnect: drop,
    close() {
      closed = true;
      attempt?.controller.abort(new TransportFailure('cancelled', 'not-done', 'the client was closed'));
      shared?.reset();
      drop();
    },
  };
}

function startAttempt(open: (signal: AbortSignal) => Promise<Connection>): Attempt {
  const controller = new AbortController();
  // Begun in a microtask, so that a key that does not fit its certificate rejects like every other failure.
  const connection = Promise.resolve().then(() => open(controller.signal));
  // Whoever waits sees the failure; nobody may be waiting any more.
  connection.catch(() => {});
  return { connection, controller, waiting: 0 };
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
}
