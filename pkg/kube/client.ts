import type { Clock } from '../clock/index.ts';
import { createSystemClock } from '../clock/index.ts';
import type { Certificate, PrivateKeyPem, Secret } from '../pki/index.ts';
import { type Binding, createAgent } from './connect.ts';
import { exchange } from './exchange.ts';
import { readReply } from './reply.ts';
import { createTurns } from './turns.ts';
import { watchOver } from './watch.ts';

/** How a client proves who it is. */
export type Credentials =
  | {
      readonly kind: 'certificate';
      readonly certificate: Certificate;
      /** Sent after the certificate, when it was not signed by a CA that the server knows itself. */
      readonly intermediates?: readonly Certificate[] | undefined;
      readonly key: PrivateKeyPem;
    }
  | { readonly kind: 'token'; readonly token: Secret<'bearer-token'> }
  | {
      /** Credentials that another program or file gives out, asked for before each new use and cached by its source. */
      readonly kind: 'plugin';
      readonly name: string;
      resolve(): Promise<ResolvedCredentials>;
    }
  | { readonly kind: 'anonymous' };

/** What a plugin answers: a certificate, a token, or both. */
export interface ResolvedCredentials {
  readonly certificatePem?: string | undefined;
  readonly key?: PrivateKeyPem | undefined;
  readonly token?: Secret<'bearer-token'> | undefined;
}

/** Everything that a client is bound to for its whole life. */
export interface KubeClientOptions {
  /** One API server, `https://host:port`. Evidence is taken off each machine, so this is a machine's own address. */
  readonly server: string;
  /** The CAs that may have signed the server's certificate. During a rotation: the old one and the new one. */
  readonly trust: readonly Certificate[];
  readonly credentials: Credentials;
  /** The name that the server's certificate must be for, when it is not the host of `server`. */
  readonly serverName?: string | undefined;
  /** Longest time for one call, connection and whole reply included, in ms; 30,000 when absent. */
  readonly deadlineMs?: number | undefined;
  /** Longest time to a finished TLS handshake, in ms; 5,000 when absent. */
  readonly connectDeadlineMs?: number | undefined;
  /** Largest reply in bytes; 32 MiB when absent. */
  readonly maxReplyBytes?: number | undefined;
  /** Most connections that are kept; 16 when absent, as more did not make an API server faster. */
  readonly maxConnections?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** How a body is meant. Always stated: an API server treats the same bytes differently under each of these. */
export type ContentType =
  | 'application/json'
  | 'application/merge-patch+json'
  | 'application/json-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

/** A value of one query parameter; `undefined` leaves it out. */
export type QueryValue = string | number | boolean | undefined;

/** One call. */
export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path without query, its parts already escaped; see `pathOf`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Required with a body; a patch has no default type. */
  readonly contentType?: ContentType | undefined;
  /** `text` gives the body as it is (health checks); `metadata` asks for objects or lists without spec and data. */
  readonly reply?: 'json' | 'text' | 'metadata' | undefined;
  /** Statuses besides 2xx whose body is an answer and no failure (500 of a health check). */
  readonly alsoAccept?: readonly number[] | undefined;
  /** What is being done, in words that follow "could not": `list the nodes`. */
  readonly doing: string;
  /** A new TCP and TLS connection for this call alone: an open one is never verified again, so it proves nothing. */
  readonly fresh?: boolean | undefined;
  readonly deadlineMs?: number | undefined;
  readonly maxReplyBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What every helper takes last. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly fresh?: boolean | undefined;
  readonly deadlineMs?: number | undefined;
}

/** A watch on a list. */
export interface WatchRequest {
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  /** The resource version of the list that the caller has; events after it are given. */
  readonly resourceVersion: string;
  readonly doing: string;
  /** Ends the watch with `timeout` when the server has said nothing for so long, in ms; 90,000 when absent. */
  readonly idleMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One event of a watch. A bookmark carries only a resource version. */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

/**
 * A client of exactly one API server: JSON over kept TLS connections, a deadline on every call, no retry of any kind.
 * Each failure is a KubeError that says whether something may have been done.
 */
export interface KubeClient {
  /** `https://host:port` */
  readonly server: string;
  /** Makes one call. `T` is what the caller expects; fields that it does not name are kept as they came. */
  request<T = unknown>(request: KubeRequest): Promise<T>;
  /** Events until the server ends the watch, the signal aborts or an error is thrown (`expired`: list again). */
  watch<T>(request: WatchRequest): AsyncIterable<WatchEvent<T>>;
  /** Closes every connection. Calls in flight fail. */
  close(): void;
}

const DEADLINE_MS = 30_000;
const CONNECT_DEADLINE_MS = 5_000;
const MAX_REPLY_BYTES = 32 * 1024 * 1024;
const MAX_CONNECTIONS = 16;

/**
 * A client of the one API server in `options`. Opens nothing before the first call.
 * Throws a TypeError for a server that is not `https://host:port` and for an empty trust list.
 */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  const binding = bind(options);
  const kept = {
    agent: createAgent(binding, { keep: true }),
    turns: createTurns(options.maxConnections ?? MAX_CONNECTIONS),
  };

  return {
    server: binding.server,
    async request<T>(request: KubeRequest): Promise<T> {
      const limits = {
        deadlineMs: request.deadlineMs ?? options.deadlineMs ?? DEADLINE_MS,
        maxReplyBytes: request.maxReplyBytes ?? options.maxReplyBytes ?? MAX_REPLY_BYTES,
      };
      return readReply(binding.server, request, await exchange(binding, kept, request, limits)) as T;
    },
    watch: (request) => watchOver(binding, request),
    close() {
      binding.closing.abort(new Error('the client was closed'));
      kept.agent.destroy();
    },
  };
}

function bind(options: KubeClientOptions): Binding {
  const url = URL.parse(options.server);
  if (url === null || url.protocol !== 'https:' || url.pathname !== '/' || url.search !== '' || url.username !== '') {
    throw new TypeError(`an API server is given as https://host:port, not as "${options.server}"`);
  }
  if (options.trust.length === 0) {
    throw new TypeError(
      `no CA was given to verify ${url.origin} with; a Kubernetes API server is never trusted without one`,
    );
  }
  return {
    server: url.origin,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 443 : Number(url.port),
    trust: options.trust,
    credentials: options.credentials,
    serverName: options.serverName,
    connectDeadlineMs: options.connectDeadlineMs ?? CONNECT_DEADLINE_MS,
    clock: options.clock ?? createSystemClock(),
    closing: new AbortController(),
  };
}

/**
 * A path from parts, each escaped: `pathOf('api', 'v1', 'nodes', name)`.
 * Empty parts are a mistake of the caller (they would name a whole list) and throw a TypeError.
 */
export function pathOf(...parts: readonly string[]): string {
  for (const part of parts) {
    if (part === '' || part === '.' || part === '..')
      throw new TypeError(`a path cannot have the part "${part}": ${parts.join('/')}`);
  }
  return `/${parts.map(encodeURIComponent).join('/')}`;
}
