import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Agent, request as open } from 'node:https';
import type { KubeRequest } from './client.ts';
import { type Binding, createAgent } from './connect.ts';
import { KubeError, type KubeErrorKind } from './errors.ts';
import { ConnectFailure, socketFailure } from './failure.ts';
import { identityFor } from './identity.ts';
import type { Turns } from './turns.ts';

/** An HTTP reply, whole. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The connections that a client keeps, and whose turn it is to use one. */
export interface Kept {
  readonly agent: Agent;
  readonly turns: Turns;
}

/** One call under way. `phase` says how far it got, which decides what a failure means. */
export interface Call {
  readonly binding: Binding;
  readonly request: Omit<KubeRequest, 'signal' | 'deadlineMs' | 'fresh'>;
  /** Ends the call; the reason is a KubeError. */
  readonly stop: AbortController;
  phase: 'connecting' | 'waiting for the reply' | 'reading the reply';
}

/**
 * One request and its whole reply over `kept`, or over a connection of its own when it is to be fresh.
 * Never tries twice. Throws a KubeError.
 */
export async function exchange(
  binding: Binding,
  kept: Kept,
  request: KubeRequest,
  limits: { readonly deadlineMs: number; readonly maxReplyBytes: number },
): Promise<Reply> {
  const agent = request.fresh ? createAgent(binding, { keep: false }) : kept.agent;
  const call: Call = { binding, request, phase: 'connecting', stop: new AbortController() };
  const done = new AbortController();
  const onCancel = (): void => call.stop.abort(failed(call, 'cancelled', 'the caller gave up'));
  request.signal?.addEventListener('abort', onCancel, { once: true });
  if (request.signal?.aborted) onCancel();
  binding.clock.sleep(limits.deadlineMs, done.signal).then(
    () => {
      call.stop.abort(failed(call, 'timeout', `not finished within ${limits.deadlineMs} ms, while ${call.phase}`));
      closeIdle(agent);
    },
    () => undefined,
  );
  let release: (() => void) | undefined;
  try {
    // A fresh call waits for nobody: it has a connection of its own.
    release = request.fresh ? undefined : await kept.turns.take(call.stop.signal);
    const message = await send(call, agent);
    return { status: message.statusCode ?? 0, headers: message.headers, body: await readBody(message, limits) };
  } catch (error) {
    throw explain(error, call);
  } finally {
    done.abort();
    release?.();
    request.signal?.removeEventListener('abort', onCancel);
    if (request.fresh) agent.destroy();
  }
}

/** Sends one request; resolves with the reply as soon as its head is there. Rejects with what Node or `stop` gave. */
export async function send(call: Call, agent: Agent): Promise<IncomingMessage> {
  const { binding, request, stop } = call;
  // A plugin that waits for somebody to log in must not outlast the call.
  const { token } = await unlessStopped(identityFor(binding.credentials, binding.server), stop.signal);
  const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
  return await new Promise((resolve, reject) => {
    if (stop.signal.aborted) {
      reject(stop.signal.reason);
      return;
    }
    const outgoing = open({
      agent,
      host: binding.host,
      port: binding.port,
      method: request.method,
      path: request.path + queryOf(request),
      headers: {
        accept: ACCEPT[request.reply ?? 'json'],
        'user-agent': 'ichor',
        ...(token === undefined ? {} : { authorization: `Bearer ${token.expose()}` }),
        ...(body === undefined ? {} : { 'content-type': request.contentType, 'content-length': body.length }),
      },
    });
    const onStop = (): void => {
      outgoing.destroy(stop.signal.reason);
      // A call that still waits for its connection says nothing when it is destroyed.
      reject(stop.signal.reason);
    };
    stop.signal.addEventListener('abort', onStop, { once: true });
    // From here on bytes may reach the server.
    outgoing.once('socket', () => {
      call.phase = 'waiting for the reply';
    });
    outgoing.on('error', reject);
    outgoing.once('response', (message) => {
      call.phase = 'reading the reply';
      resolve(message);
    });
    outgoing.once('close', () => stop.signal.removeEventListener('abort', onStop));
    outgoing.end(body);
  });
}

function unlessStopped<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onStop = (): void => reject(signal.reason);
    signal.addEventListener('abort', onStop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onStop));
  });
}

const ACCEPT = {
  json: 'application/json',
  text: 'text/plain, */*',
  metadata: [
    'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  ].join(','),
} as const;

function queryOf(request: Pick<KubeRequest, 'query'>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) query.append(name, String(value));
  }
  return query.size === 0 ? '' : `?${query}`;
}

async function readBody(message: IncomingMessage, limits: { readonly maxReplyBytes: number }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.maxReplyBytes) {
      message.destroy();
      throw new ConnectFailure('too-large', `the reply is larger than ${limits.maxReplyBytes} bytes`, {});
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Turns what ended a call into a KubeError; a stop that we asked for wins over what the socket said because of it. */
export function explain(error: unknown, call: Call): KubeError {
  if (call.stop.signal.reason instanceof KubeError) return call.stop.signal.reason;
  if (error instanceof KubeError) return error;
  if (call.binding.closing.signal.aborted) return failed(call, 'cancelled', 'the client was closed');
  const failure = error instanceof ConnectFailure ? error : socketFailure(error);
  return failed(call, failure.kind, failure.message, failure);
}

/** The KubeError of a call that got no usable reply. */
export function failed(call: Call, kind: KubeErrorKind, found: string, failure?: ConnectFailure): KubeError {
  // A refused client certificate shows only at the first read; the server never got to the request.
  const neverSent = call.phase === 'connecting' || kind === 'untrusted-client';
  return new KubeError({
    kind,
    server: call.binding.server,
    doing: call.request.doing,
    found,
    outcome: neverSent || changesNothing(call.request) ? 'not-done' : 'unknown',
    presented: failure?.presented,
    cause: failure?.cause,
  });
}

/** True for reads and for dry runs. */
export function changesNothing(request: Pick<KubeRequest, 'method' | 'query'>): boolean {
  return request.method === 'GET' || request.query?.dryRun === 'All';
}

/** After a silence the other kept connections lead to the same dead machine: the next call opens a new one. */
function closeIdle(agent: Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}
