import type { Certificate } from '../../../pkg/pki/index.ts';
import { answer, type SimMachine, type World } from '../../simulator/index.ts';
import {
  type ApiReply,
  type ApiRequest,
  type ApiUser,
  apiVersionOf,
  failure,
  groupVersions,
  historyOf,
  KUBERNETES_VERSION,
  routeOf,
  selectionOf,
} from '../../simulator/kube/index.ts';
import { discovery, versionReply } from './discovery.ts';
import { addressOf, type HttpReply, mediaTypeOf, readBody, send } from './http.ts';
import { identify, isOpen, mayUse } from './identity.ts';
import type { Request, Response } from './port.ts';
import { type Form, formOf, type Printing, represent } from './representation.ts';
import { review } from './reviews.ts';
import { watch } from './watch.ts';

/** One API server that answers. */
export interface ApiOptions {
  readonly world: World;
  readonly machine: SimMachine;
  /** First version that this instance of the API server knows changes after. */
  beganAt(): number;
  /** After every request that may have changed something. */
  changed(): void;
  log(line: string): void;
}

const ANONYMOUS: ApiUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Answers one request of somebody who showed this certificate, or none. */
export async function serveRequest(
  options: ApiOptions,
  request: Request,
  response: Response,
  certificate: Certificate | undefined,
): Promise<void> {
  const { path, query } = addressOf(request);
  const user = admitted(options, request, path, certificate);
  if ('status' in user) {
    send(response, user);
    return;
  }
  const body = await readBody(request);
  if (!body.ok) {
    send(response, body.reply);
    return;
  }
  const method = request.method ?? 'GET';
  const { accept } = request.headers;
  const told = method === 'GET' ? discovered(path, accept) : review(path, method, user, body.value);
  if (told !== undefined) {
    send(response, told);
    return;
  }
  const contentType = mediaTypeOf(request) || undefined;
  serveObjects(
    options,
    { method, path, query, body: body.value, contentType, user },
    { response, form: formOf(accept) },
  );
}

interface Wanted {
  readonly response: Response;
  readonly form: Form;
}

type ObjectRequest = ApiRequest & { readonly query: Readonly<Record<string, string>> };

function serveObjects(options: ApiOptions, asked: ObjectRequest, { response, form }: Wanted): void {
  const { world, machine } = options;
  const { method, path, query } = asked;
  const route = routeOf(path);
  const printing = (): Printing => ({ now: world.clock.now(), includeObject: query.includeObject });
  const history = historyOf(world);
  history.refresh();
  const reply = answer(world, machine, asked, history);
  if (method !== 'GET' && reply.status < 300) options.changed();
  if (route === undefined) {
    send(response, unrouted(reply, path));
    return;
  }
  // What is wrong with a request or the storage is said before a watch begins; an object may come only later.
  const isWatch = method === 'GET' && (query.watch === 'true' || query.watch === '1');
  if (!isWatch || (reply.status !== 200 && route.name === undefined)) {
    send(response, represent(reply, route.resource, form, printing()));
    return;
  }
  const { resource, namespace, name } = route;
  const fieldSelector = name === undefined ? query.fieldSelector : `metadata.name=${name}`;
  const selected = selectionOf(resource, namespace, { ...query, fieldSelector });
  if (!selected.ok) send(response, selected.reply);
  else
    watch(response, {
      history,
      resource,
      selection: selected.selection,
      query,
      form,
      printing,
      beganAt: options.beganAt(),
    });
}

function discovered(path: string, accept: string | undefined): HttpReply | undefined {
  if (path === '/version' || path === '/version/') return versionReply(KUBERNETES_VERSION);
  return discovery(path, accept);
}

/** Outside of every group nothing is JSON. */
function unrouted(reply: ApiReply, path: string): ApiReply {
  const known = groupVersions().map((each) => `${each.group === '' ? '/api' : '/apis'}/${apiVersionOf(each)}/`);
  const isInside = known.some((prefix) => path.startsWith(prefix));
  return reply.status === 404 && !isInside ? { status: 404, body: '404 page not found\n' } : reply;
}

/** The user, if he may use the path at all; a refusal otherwise. */
function admitted(
  { world, machine, log }: ApiOptions,
  request: Request,
  path: string,
  certificate: Certificate | undefined,
): ApiUser | ApiReply {
  const { kubernetes, aggregator } = machine.taken;
  // Both files are read again at once when they change, and every request is judged by what they say now.
  const cas = { client: kubernetes?.accepted ?? [], requestheader: aggregator?.accepted ?? [], now: world.clock.now() };
  const identified = identify({ certificate, headers: request.headers }, cas);
  if (identified.kind === 'user') {
    const { user } = identified;
    return mayUse(user, path) ? user : forbidden(user, request.method ?? 'GET', path);
  }
  if (identified.kind === 'anonymous' && isOpen(path)) return ANONYMOUS;
  if (identified.kind === 'refused') log(`Unable to authenticate the request: ${identified.why}`);
  return failure(401, 'Unauthorized', 'Unauthorized');
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

function forbidden({ name }: ApiUser, method: string, path: string): ApiReply {
  const route = routeOf(path);
  const verb = method === 'GET' && route?.name === undefined ? 'list' : (VERBS[method] ?? method.toLowerCase());
  if (route === undefined) return failure(403, 'Forbidden', `forbidden: User "${name}" cannot ${verb} path "${path}"`);
  const { resource, namespace } = route;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const message = `${resource.plural} is forbidden: User "${name}" cannot ${verb} resource "${resource.plural}" in API group "${resource.group}" ${where}`;
  return failure(403, 'Forbidden', message, { kind: resource.plural });
}
