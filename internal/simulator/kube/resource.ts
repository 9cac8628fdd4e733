import type { KubeObject } from '../../../pkg/kube/index.ts';
import type { World } from '../world.ts';
import { type ApiReply, type ApiRequest, failure } from './request.ts';

/** One column of what `kubectl get` prints; `wide` ones only with `-o wide`. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer';
  readonly isName?: boolean;
  readonly wide?: boolean;
  /** `now` in milliseconds since the epoch. */
  value(object: KubeObject, now: number): string | number;
}

/** A write that was let through to the world. */
export interface Write {
  readonly before: KubeObject;
  readonly after: KubeObject;
}

/** How an object is to be deleted. */
export interface Removal {
  readonly object: KubeObject;
  /** At once, with no grace period. */
  readonly force: boolean;
}

/** One resource of the API: what it is called, where its objects are, and what a write does to the world. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories?: readonly string[];
  /** Fields by which a list can be narrowed, besides name and namespace. */
  readonly fields?: readonly string[];
  readonly columns: readonly Column[];
  /** Every object as it is now, in any order. */
  list(world: World): readonly KubeObject[];
  /** One object, where that is cheaper than the whole list. */
  find?(world: World, name: string): KubeObject | undefined;
  /** Takes a new object up. A reply is a refusal. */
  create?(world: World, object: KubeObject): ApiReply | undefined;
  update?(world: World, write: Write): ApiReply | undefined;
  remove?(world: World, removal: Removal): ApiReply | undefined;
  /** What is posted or read below an object, by the last part of the path. */
  readonly subresources?: Readonly<Record<string, Subresource>>;
}

/** Something below an object, such as the eviction of a pod. */
export interface Subresource {
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
  serve(world: World, object: KubeObject, request: ApiRequest): ApiReply;
}

/** `v1`, or `apps/v1`. */
export function apiVersionOf({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `nodes`, or `deployments.apps`. */
export function qualifiedName({ group, plural }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** The object is not there. */
export function notFound(resource: Resource, name: string): ApiReply {
  const { group, plural } = resource;
  const message = `${qualifiedName(resource)} "${name}" not found`;
  return failure(404, 'NotFound', message, { name, kind: plural, ...(group === '' ? {} : { group }) });
}

/** A precondition of a write does not hold. */
export function conflict(resource: Resource, name: string, why: string): ApiReply {
  const { group, plural } = resource;
  const message = `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${why}`;
  return failure(409, 'Conflict', message, { name, kind: plural, ...(group === '' ? {} : { group }) });
}

/** A field is not what it has to be. */
export function invalid(resource: Resource, name: string, field: string, why: string): ApiReply {
  const reason = why.startsWith('Required value') ? 'FieldValueRequired' : 'FieldValueInvalid';
  const { group, kind } = resource;
  const message = `${group === '' ? kind : `${kind}.${group}`} "${name}" is invalid: ${field}: ${why}`;
  const named = name === '' ? {} : { name };
  const causes = [{ reason, message: why, field }];
  return failure(422, 'Invalid', message, { ...named, kind, ...(group === '' ? {} : { group }), causes });
}
