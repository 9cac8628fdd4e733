import { type ApiReply, failure } from '../../simulator/kube/index.ts';
import type { Request, Response } from './port.ts';

/** etcd takes no object above 1.5 MiB; kube-apiserver reads twice that. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** A body, or the refusal of one. */
export type Body = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reply: ApiReply };

const JSON_TYPES = /^application\/(json|[a-z-]+-patch\+json)$/;

/** Reads the body of a request; JSON alone, as that is what kubectl and our own clients send. */
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
  // Every JSON text is YAML; clients that apply send either.
  if (type !== '' && !JSON_TYPES.test(type) && type !== 'application/apply-patch+yaml') {
    const message = `the body of the request was in an unknown format - accepted media types include: application/json`;
    return { ok: false, reply: failure(415, 'UnsupportedMediaType', message) };
  }
  try {
    return { ok: true, value: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
  } catch (error) {
    return {
      ok: false,
      reply: failure(400, 'BadRequest', `the body of the request is not JSON: ${(error as Error).message}`),
    };
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
