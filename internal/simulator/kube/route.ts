import { resourceAt } from './registry.ts';
import type { Resource } from './resource.ts';

/** Where the path of a request leads. */
export interface Route {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  /** Undefined for the whole list. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Reads `/api/v1/...` or `/apis/GROUP/VERSION/...`; undefined for a path that leads to no resource. */
export function routeOf(path: string): Route | undefined {
  const known = routes.get(path);
  if (known !== undefined || routes.has(path)) return known;
  const route = readRoute(path);
  if (routes.size >= KEPT) routes.clear();
  routes.set(path, route);
  return route;
}

/** So many paths are remembered, then all are forgotten: clients ask for the same few again and again. */
const KEPT = 1_000;
const routes = new Map<string, Route | undefined>();

function readRoute(path: string): Route | undefined {
  const parts = path.split('/').slice(1).map(decoded);
  const isCore = parts[0] === 'api';
  if (!isCore && parts[0] !== 'apis') return undefined;
  const apiVersion = parts.slice(1, isCore ? 2 : 3).join('/');
  const rest = parts.slice(isCore ? 2 : 3);
  // A namespace is an object and the first part of what is in it: `namespaces/x` and `namespaces/x/pods`.
  const isInside = rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize';
  const [plural = '', name, subresource, more] = isInside ? rest.slice(2) : rest;
  const namespace = isInside ? rest[1] : undefined;
  const resource = more === undefined ? resourceAt(apiVersion, plural) : undefined;
  if (resource === undefined || (isInside && !resource.namespaced)) return undefined;
  // Below a namespaced resource there is no object without its namespace.
  if (name !== undefined && resource.namespaced && !isInside) return undefined;
  return { resource, namespace, name, subresource };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
