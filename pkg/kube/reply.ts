import type { KubeRequest } from './client.ts';
import { KubeError, type KubeErrorKind, type StatusCause } from './errors.ts';
import { changesNothing, type Reply } from './exchange.ts';

/** A Kubernetes `Status`, as far as it is there. */
export interface StatusBody {
  readonly kind?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  };
}

/** The value of a reply: parsed JSON, or the text where text was asked for. Throws a KubeError for all but 2xx. */
export function readReply(server: string, request: KubeRequest, reply: Reply): unknown {
  const text = reply.body.toString('utf8');
  const success = reply.status >= 200 && reply.status <= 299;
  if (!success && !request.alsoAccept?.includes(reply.status)) throw refusal(server, request, reply, text);
  if (request.reply === 'text') return text;
  const value = parse(text);
  if (value === undefined) {
    throw new KubeError({
      kind: 'unexpected-reply',
      server,
      doing: request.doing,
      found: `status ${reply.status} with a body of ${reply.body.length} bytes that is not JSON`,
      // The server said that it did it.
      outcome: changesNothing(request) ? 'not-done' : 'unknown',
      status: reply.status,
    });
  }
  return value;
}

function refusal(server: string, request: KubeRequest, reply: Reply, text: string): KubeError {
  const parsed = parse(text);
  const body: StatusBody = typeof parsed === 'object' && parsed !== null ? (parsed as StatusBody) : {};
  const status = body.kind === 'Status' ? body : undefined;
  const message = status?.message ?? (text.length > 500 ? `${text.slice(0, 500)}…` : text).trim();
  const kind = kindOf(reply.status, status, message);
  return new KubeError({
    kind,
    server,
    doing: request.doing,
    found: `status ${reply.status}${status?.reason ? ` ${status.reason}` : ''}: ${message === '' ? '(no message)' : message}`,
    outcome: changesNothing(request) || refusedFirst(reply.status, kind) ? 'not-done' : 'unknown',
    status: reply.status,
    reason: status?.reason,
    causes: status?.details?.causes?.map(toCause),
    retryAfterMs: retryAfterMs(reply, status),
  });
}

/** The kind of an answer that is no success, from its HTTP status and its Kubernetes Status. */
export function kindOf(code: number, status: StatusBody | undefined, message: string): KubeErrorKind {
  const webhook = webhookKind(status?.reason, message);
  if (webhook !== undefined) return webhook;
  if (isDiscoveryFailure(code, status, message)) return 'discovery';
  const byCode = BY_STATUS[code];
  if (code === 409 && status?.reason === 'AlreadyExists') return 'already-exists';
  if (byCode !== undefined) return byCode;
  if (code >= 400 && code < 500) return 'invalid';
  return code >= 500 ? 'server-error' : 'unexpected-reply';
}

const BY_STATUS: Readonly<Record<number, KubeErrorKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  408: 'timeout',
  409: 'conflict',
  410: 'expired',
  429: 'too-many-requests',
  504: 'timeout',
};

/** A webhook that could not be called is not a webhook that said no, whatever status either comes with. */
function webhookKind(reason: string | undefined, message: string): KubeErrorKind | undefined {
  if (/admission webhook .* denied the request/.test(message)) return reason === 'Invalid' ? 'invalid' : 'forbidden';
  if (!message.includes('failed calling webhook')) return undefined;
  if (reason === 'Forbidden') return 'forbidden';
  return reason === 'Invalid' ? 'invalid' : 'webhook';
}

/**
 * A path that the server does not serve: a 404 that names no object, or 503 while it still installs its paths.
 * An object that is missing is a 404 whose details carry a name.
 */
function isDiscoveryFailure(code: number, status: StatusBody | undefined, message: string): boolean {
  if (code === 404) return (status?.details?.name ?? '') === '';
  return code === 503 && message.includes('before all known HTTP paths have been installed');
}

/** A 4xx is said before anything is stored, and so is a failed webhook: admission comes before storage. */
function refusedFirst(code: number, kind: KubeErrorKind): boolean {
  return (
    (code >= 300 && code < 500 && code !== 408) || kind === 'webhook' || kind === 'discovery' || kind === 'forbidden'
  );
}

function retryAfterMs(reply: Reply, status: StatusBody | undefined): number | undefined {
  const seconds = Number(reply.headers['retry-after'] ?? status?.details?.retryAfterSeconds);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
}

function toCause(cause: { reason?: string; message?: string; field?: string }): StatusCause {
  return { reason: cause.reason ?? '', message: cause.message ?? '', field: cause.field ?? '' };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The error that a watch sends as its last event: a Status inside a reply that began with 200. */
export function watchRefusal(server: string, doing: string, status: StatusBody): KubeError {
  const code = status.code ?? 500;
  const message = status.message ?? '(no message)';
  return new KubeError({
    kind: kindOf(code, status, message),
    server,
    doing,
    found: `the watch ended with status ${code}${status.reason ? ` ${status.reason}` : ''}: ${message}`,
    outcome: 'not-done',
    status: code,
    reason: status.reason,
  });
}
