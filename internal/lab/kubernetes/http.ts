import { parse as parseYaml } from 'yaml';
import { type ApiReply, failure } from '../../simulator/kube/index.ts';
import type { Request, Response } from './port.ts';
import { readProtobuf } from './protobuf.ts';

/** etcd takes no object above 1.5 MiB; kube-apiserver reads twice that. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** A body, or the refusal of one. */
export type Body = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reply: ApiReply };

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const JSON_TYPES = /^application\/(json|[a-z-]+-patch\+json)$/;

/** Reads the body of a request: JSON, or what Go clients make of the kinds that they know. */
export async function readBody(request: Request): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      const message = `limit is ${MAX_BODY_BYTES} bytes`;
      return { ok: false, reply: failure(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`) };
    }
    chunks.push(chunk);
  }
  if (size === 0) return { ok: true, value: undefined };
  const type = mediaTypeOf(request);
  const bytes = Buffer.concat(chunks);
  if (type === PROTOBUF) return read(() => readProtobuf(bytes));
  if (type === 'application/apply-patch+yaml') return read(() => parseYaml(bytes.toString('utf8')));
  if (type !== '' && !JSON_TYPES.test(type)) {
    if (request.method === 'PATCH')
      return { ok: false, reply: failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {}) };
    const message = `the body of the request was in an unknown format - accepted media types include: application/json`;
    return { ok: false, reply: failure(415, 'UnsupportedMediaType', message) };
  }
  return read(() => JSON.parse(bytes.toString('utf8')));
}

function read(parse: () => unknown): Body {
  try {
    return { ok: true, value: parse() };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, reply: failure(400, 'BadRequest', `the body of the request cannot be read: ${why}`) };
  }
}

/** Media type of a body, without parameters. */
export function mediaTypeOf(request: Request): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
}

/** Path and query of a request; a field that comes twice counts once, the last time. */
export function addressOf(request: Request): {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
} {
  const url = new URL(request.url ?? '/', 'https://server');
  return { path: url.pathname, query: Object.fromEntries(url.searchParams) };
}

/** A reply, with its media type where that is neither plain JSON nor plain text. */
export interface HttpReply extends ApiReply {
  readonly mediaType?: string;
}

/** Sends a whole reply: an object as JSON, a text as it is. */
export function send(response: Response, { status, body, mediaType }: HttpReply): void {
  const isText = typeof body === 'string';
  const bytes = Buffer.from(isText ? body : `${JSON.stringify(body)}\n`);
  response.writeHead(status, {
    'content-type': mediaType ?? (isText ? 'text/plain; charset=utf-8' : 'application/json'),
    'content-length': bytes.length,
    'cache-control': 'no-cache, private',
  });
  response.end(bytes);
}
