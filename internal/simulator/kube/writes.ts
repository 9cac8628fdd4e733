import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../../pkg/kube/index.ts';
import { applied } from './apply.ts';
import { isFields } from './fields.ts';
import { PatchError, patched } from './patch.ts';
import { type ApiReply, failure } from './request.ts';
import { conflict, invalid, notFound } from './resource.ts';
import { create, isDryRun, notAllowed, type Target } from './verbs.ts';

/** Replaces an object by the one in the body. */
export function replace(target: Target): ApiReply {
  const { resource, request, name } = target;
  if (!isFields(request.body) || !isFields(request.body.metadata)) {
    return failure(400, 'BadRequest', `a ${resource.kind} with metadata was expected in the body`);
  }
  if (request.body.metadata.name !== name) {
    const sent = String(request.body.metadata.name ?? '');
    const message = `the name of the object (${sent}) does not match the name on the URL (${name})`;
    return failure(400, 'BadRequest', message);
  }
  return write(target, () => request.body);
}

/** Changes an object by a patch. */
export function patch(target: Target): ApiReply {
  const type = target.request.contentType ?? 'application/merge-patch+json';
  if (type === 'application/apply-patch+yaml') return apply(target);
  if (!/^application\/(merge-patch|strategic-merge-patch|json-patch)\+json/.test(type)) {
    return failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  }
  try {
    return write(target, (before) => patched(before, target.request.body, type));
  } catch (error) {
    // What exactly is wrong with a patch kube-apiserver does not say.
    if (error instanceof PatchError)
      return failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
    throw error;
  }
}

/** Server-side apply: makes the object where it is not there. */
function apply(target: Target): ApiReply {
  const { world, view, resource, namespace, name, request } = target;
  const { body, query } = request;
  if (!isFields(body)) return failure(400, 'BadRequest', `a ${resource.kind} was expected in the body`);
  const manager = String(query.fieldManager ?? '');
  if (manager === '') return withoutManager();
  const { metadata = {} } = body as { metadata?: object };
  const wanted = { ...body, metadata: { ...metadata, name } } as unknown as KubeObject;
  const before = view.find(resource, namespace, name);
  const result = applied(before, wanted, { manager, force: String(query.force) === 'true', now: world.clock.now() });
  if (!result.ok) {
    const fields = result.conflicts.map(({ path, manager: owner }) => `conflict with "${owner}": ${path}`);
    const causes = result.conflicts.map(({ path, manager: owner }) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with "${owner}"`,
      field: path,
    }));
    const message = `Apply failed with ${fields.length} conflict${fields.length === 1 ? '' : 's'}: ${fields.join(', ')}`;
    return failure(409, 'Conflict', message, { causes });
  }
  if (before === undefined) return create({ ...target, request: { ...request, body: result.object } });
  return write(target, () => result.object);
}

function withoutManager(): ApiReply {
  const why = 'Required value: is required for apply patch';
  const causes = [{ reason: 'FieldValueRequired', message: why, field: 'fieldManager' }];
  const message = `PatchOptions.meta.k8s.io "" is invalid: fieldManager: ${why}`;
  return failure(422, 'Invalid', message, { group: 'meta.k8s.io', kind: 'PatchOptions', causes });
}

function write(target: Target, make: (before: KubeObject) => unknown): ApiReply {
  const { world, view, resource, namespace, name, request } = target;
  if (resource.update === undefined) return notAllowed(resource, request.method === 'PUT' ? 'update' : 'patch');
  const before = view.find(resource, namespace, name);
  if (before === undefined) return notFound(resource, name);
  const made = make(before) as KubeObject;
  if (!isFields(made) || !isFields(made.metadata)) {
    return failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
  const wrong = changedIdentity(target, before, made);
  if (wrong !== undefined) return wrong;
  const { creationTimestamp, resourceVersion: version, uid } = before.metadata;
  const place = namespace === undefined ? {} : { namespace };
  const kept = { uid, creationTimestamp, resourceVersion: version };
  const after = { ...made, metadata: { ...made.metadata, ...place, ...kept } };
  // A write that changes nothing is no write: the version stays.
  if (isDryRun(request) || isDeepStrictEqual(after, before)) return { status: 200, body: after };
  const refusal = resource.update(world, { before, after });
  if (refusal !== undefined) return refusal;
  view.refresh();
  return { status: 200, body: view.find(resource, namespace, name) ?? after };
}

/** What makes an object this one cannot be changed, only be a precondition. */
function changedIdentity(
  { resource, namespace, name, request }: Target,
  before: KubeObject,
  made: KubeObject,
): ApiReply | undefined {
  const { metadata } = made;
  if (metadata.name !== name) {
    const message = `the name of the object (${metadata.name}) does not match the name on the URL (${name})`;
    return failure(400, 'BadRequest', message);
  }
  if ((metadata.namespace || namespace) !== namespace) {
    const why = 'the namespace of the provided object does not match the namespace sent on the request';
    return failure(400, 'BadRequest', why);
  }
  const uid = metadata.uid || before.metadata.uid;
  if (uid !== before.metadata.uid) {
    const immutable = `Invalid value: ${JSON.stringify(uid)}: field is immutable`;
    if (request.method === 'PATCH') return invalid(resource, name, 'metadata.uid', immutable);
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`;
    return conflict(resource, name, why);
  }
  const version = metadata.resourceVersion || before.metadata.resourceVersion;
  if (version === before.metadata.resourceVersion) return undefined;
  const why = 'the object has been modified; please apply your changes to the latest version and try again';
  return conflict(resource, name, why);
}
