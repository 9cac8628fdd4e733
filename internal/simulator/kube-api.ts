import { type ApiReply, type ApiRequest, failure, notServed } from './kube/request.ts';
import { type Route, routeOf } from './kube/route.ts';
import { once } from './kube/shared.ts';
import { create, list, read, remove } from './kube/verbs.ts';
import { plainView, type View } from './kube/view.ts';
import { patch, replace } from './kube/writes.ts';
import type { SimMachine } from './machine.ts';
import { isApiServerReady, reachesEtcd } from './transitions.ts';
import type { World } from './world.ts';

/**
 * Answers a request as the API server of `machine` does, out of a view of the world; straight from the world unless
 * given. Storage is etcd: without it everything but the checks is a 500.
 */
export function answer(
  world: World,
  machine: SimMachine,
  request: ApiRequest,
  view: View = plainView(world),
): ApiReply {
  // Nearly every path is one of the API's own.
  if (!request.path.startsWith('/api') && HEALTH.test(request.path)) return health(world, machine, request);
  if (!reachesEtcd(world, machine)) return failure(500, 'InternalError', 'etcdserver: request timed out');
  const route = routeOf(request.path);
  return route === undefined ? notServed() : answerRoute(world, view, request, route);
}

const HEALTH = /^\/(readyz|livez|healthz)(\/[a-z-]+)?$/;

function answerRoute(
  world: World,
  view: View,
  request: ApiRequest,
  { resource, namespace, name, subresource }: Route,
): ApiReply {
  const { method } = request;
  const target = { world, view, resource, namespace, name: name ?? '', request };
  if (name === undefined) {
    if (method === 'GET') return list(target);
    return method === 'POST' ? create(target) : noSuchMethod();
  }
  if (subresource !== undefined) return answerBelow(target, subresource);
  switch (method) {
    case 'GET':
      return read(target);
    case 'PUT':
      return replace(target);
    case 'PATCH':
      return patch(target);
    case 'DELETE':
      return remove(target);
    default:
      return noSuchMethod();
  }
}

function noSuchMethod(): ApiReply {
  return failure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

function answerBelow(target: Parameters<typeof read>[0], subresource: string): ApiReply {
  const { world, resource, request } = target;
  const below = resource.subresources?.[subresource];
  if (below === undefined) return notServed();
  const found = read(target);
  if (found.status !== 200) return found;
  if (request.method !== 'POST') return noSuchMethod();
  return below.serve(world, found.body as Parameters<typeof below.serve>[1], request);
}

/** `ok`, or one line a check where that was asked for or something fails. */
function health(world: World, machine: SimMachine, { path, query }: ApiRequest): ApiReply {
  const ok = path.endsWith('/ping') || isApiServerReady(world, machine);
  if (ok && query.verbose === undefined) return { status: 200, body: 'ok' };
  return ok ? passed(path) : failed(path);
}

const passed = once((path): ApiReply => {
  return { status: 200, body: `[+]ping ok\n[+]etcd ok\n${checkOf(path)} check passed\n` };
});

const failed = once((path): ApiReply => {
  return { status: 500, body: `[+]ping ok\n[-]etcd failed: reason withheld\n${checkOf(path)} check failed\n` };
});

/** `readyz` of `/readyz/ping`. */
function checkOf(path: string): string {
  return path.split('/')[1] ?? '';
}

export { type ApiReply, type ApiRequest, failure } from './kube/request.ts';
