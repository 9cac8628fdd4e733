import { type KubeObject, toTime } from '../../../pkg/kube/index.ts';
import type { World } from '../world.ts';
import { isFields } from './fields.ts';
import { type ApiReply, type ApiRequest, failure } from './request.ts';
import { apiVersionOf, conflict, invalid, notFound, qualifiedName, type Resource } from './resource.ts';
import { selectionOf } from './selection.ts';
import { uidOf } from './storage.ts';
import type { View } from './view.ts';

/** What one request is about. */
export interface Target {
  readonly world: World;
  readonly view: View;
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly request: ApiRequest;
}

/** Lists what the selectors pick. */
export function list({ view, resource, namespace, request }: Omit<Target, 'name'>): ApiReply {
  const selected = selectionOf(resource, namespace, request.query);
  if (!selected.ok) return selected.reply;
  const all = view.list(resource);
  const items = selected.selection.isAll ? all : all.filter(selected.selection.matches);
  const body = {
    kind: `${resource.kind}List`,
    apiVersion: apiVersionOf(resource),
    metadata: { resourceVersion: view.revision() },
    items,
  };
  return { status: 200, body };
}

/** Reads one object. */
export function read({ view, resource, namespace, name }: Target): ApiReply {
  const object = view.find(resource, namespace, name);
  return object === undefined ? notFound(resource, name) : { status: 200, body: object };
}

const NAME = /^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$/;
/** What Kubernetes appends to `generateName`: no vowels, nothing that looks like something else. */
const SUFFIX = 'bcdfghjklmnpqrstvwxz2456789';

/** Creates an object. */
export function create(target: Omit<Target, 'name'>): ApiReply {
  const { world, view, resource, namespace, request } = target;
  if (resource.create === undefined) return notAllowed(resource, 'create');
  if (!isFields(request.body) || !isFields(request.body.metadata)) {
    return failure(400, 'BadRequest', `a ${resource.kind} with metadata was expected in the body`);
  }
  const given = request.body as unknown as KubeObject;
  const name = given.metadata.name ?? generatedName(world, request.body.metadata.generateName);
  const wrong = misplaced(target, given, name);
  if (wrong !== undefined) return wrong;
  if (view.find(resource, namespace, name) !== undefined) {
    const { group, plural } = resource;
    const message = `${qualifiedName(resource)} "${name}" already exists`;
    return failure(409, 'AlreadyExists', message, { name, kind: plural, ...(group === '' ? {} : { group }) });
  }
  const now = world.clock.now();
  const object = {
    ...given,
    metadata: {
      ...given.metadata,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: uidOf(`${qualifiedName(resource)}/${namespace}/${name}/${now}/${view.revision()}`),
      creationTimestamp: toTime(now),
      resourceVersion: '',
    },
  };
  if (isDryRun(request)) return { status: 201, body: object };
  const refusal = resource.create(world, object);
  if (refusal !== undefined) return refusal;
  view.refresh();
  return { status: 201, body: view.find(resource, namespace, name) ?? object };
}

function generatedName(world: World, prefix: unknown): string {
  if (typeof prefix !== 'string' || prefix === '') return '';
  const random = world.random(`name/${prefix}/${world.kubernetes.storage.revision}`);
  return prefix + Array.from({ length: 5 }, () => random.pick([...SUFFIX])).join('');
}

function misplaced(
  { world, resource, namespace }: Omit<Target, 'name'>,
  given: KubeObject,
  name: string,
): ApiReply | undefined {
  if (name === '') return invalid(resource, name, 'metadata.name', 'Required value: name or generateName is required');
  if (!NAME.test(name) || name.length > 253) {
    return invalid(
      resource,
      name,
      'metadata.name',
      `Invalid value: ${JSON.stringify(name)}: a lowercase RFC 1123 subdomain was expected`,
    );
  }
  if (namespace === undefined) return undefined;
  if (given.metadata.namespace !== undefined && given.metadata.namespace !== namespace) {
    const why = 'the namespace of the provided object does not match the namespace sent on the request';
    return failure(400, 'BadRequest', why);
  }
  if (!world.kubernetes.rootCas.has(namespace)) {
    return failure(404, 'NotFound', `namespaces "${namespace}" not found`, { name: namespace, kind: 'namespaces' });
  }
  return undefined;
}

interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Deletes an object, or begins to. */
export function remove(target: Target): ApiReply {
  const { world, view, resource, namespace, name, request } = target;
  if (resource.remove === undefined) return notAllowed(resource, 'delete');
  const object = view.find(resource, namespace, name);
  if (object === undefined) return notFound(resource, name);
  const options = (isFields(request.body) ? request.body : {}) as DeleteOptions;
  const why = unmet(object, options.preconditions ?? {});
  if (why !== undefined) return conflict({ ...resource, plural: resource.kind }, name, why);
  const grace = options.gracePeriodSeconds ?? request.query.gracePeriodSeconds;
  if (!isDryRun(request)) {
    const refusal = resource.remove(world, { object, force: String(grace) === '0' });
    if (refusal !== undefined) return refusal;
    view.refresh();
    // What takes its time to end is shown as it is; of what is gone there is only its name.
    const left = view.find(resource, namespace, name);
    if (left?.metadata.uid === object.metadata.uid) return { status: 200, body: left };
  }
  const { group, plural } = resource;
  const details = { name, kind: plural, uid: object.metadata.uid, ...(group === '' ? {} : { group }) };
  return { status: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details } };
}

function unmet(
  { metadata }: KubeObject,
  { uid, resourceVersion }: NonNullable<DeleteOptions['preconditions']>,
): string | undefined {
  if (uid !== undefined && uid !== metadata.uid) {
    return `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    return `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
  }
  return undefined;
}

/** Whether nothing is to be stored: by a parameter, or by the options that a deletion has as its body. */
export function isDryRun({ method, query, body }: ApiRequest): boolean {
  return String(query.dryRun ?? '') === 'All' || (method === 'DELETE' && isFields(body) && saysDryRun(body));
}

/** Whether these DeleteOptions, of a deletion or of an eviction, ask for a dry run. */
export function saysDryRun({ dryRun }: { readonly dryRun?: unknown }): boolean {
  return Array.isArray(dryRun) && dryRun.includes('All');
}

/** The simulated cluster has no such verb for the resource. */
export function notAllowed(resource: Resource, verb: string): ApiReply {
  const message = `${verb} is not supported on resources of kind "${qualifiedName(resource)}"`;
  return failure(405, 'MethodNotAllowed', message);
}
