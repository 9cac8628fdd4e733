import { isDeepStrictEqual } from 'node:util';
import { isFields } from './fields.ts';

/** A patch that cannot be applied; the message is for whoever sent it. */
export class PatchError extends Error {}

/** The object that a patch makes of `before`, which stays as it is. Throws a {@link PatchError}. */
export function patched(before: unknown, patch: unknown, contentType: string): unknown {
  const type = contentType.split(';')[0]?.trim();
  if (type === 'application/json-patch+json') return jsonPatched(before, patch);
  if (!isFields(patch)) throw new PatchError('the patch is not an object');
  return type === 'application/strategic-merge-patch+json' ? strategic(before, patch) : merged(before, patch);
}

/** RFC 7386. */
function merged(before: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const result: Record<string, unknown> = isFields(before) ? { ...before } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field];
    else result[field] = merged(result[field], value);
  }
  return result;
}

/** Lists that Kubernetes merges by a key of their items; all others are replaced as a whole. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  conditions: 'type',
  addresses: 'type',
  ownerReferences: 'uid',
};

/** Kubernetes' own merge: as RFC 7386, with some lists merged by a key, and directives in fields that begin with `$`. */
function strategic(before: unknown, patch: Readonly<Record<string, unknown>>): unknown {
  const { $patch: directive, ...fields } = patch;
  if (directive === 'delete') return undefined;
  const result: Record<string, unknown> = isFields(before) && directive !== 'replace' ? { ...before } : {};
  for (const [field, value] of Object.entries(fields)) {
    // The order of merged lists and what is retained beside them: hints of kubectl apply that change no value here.
    if (field.startsWith('$')) continue;
    if (value === null) delete result[field];
    else if (Array.isArray(value)) result[field] = mergedList(result[field], value, MERGE_KEYS[field]);
    else if (isFields(value)) {
      const next = strategic(result[field], value);
      if (next === undefined) delete result[field];
      else result[field] = next;
    } else result[field] = value;
  }
  return result;
}

function mergedList(before: unknown, patch: readonly unknown[], key: string | undefined): unknown {
  if (key === undefined || !Array.isArray(before))
    return patch.filter((item) => !isFields(item) || item.$patch === undefined);
  const result: unknown[] = [...before];
  for (const item of patch) {
    if (!isFields(item)) throw new PatchError(`an item of a list that is merged by "${key}" is not an object`);
    const index = result.findIndex((each) => isFields(each) && each[key] === item[key]);
    const next = strategic(result[index], item);
    if (next === undefined) {
      if (index >= 0) result.splice(index, 1);
    } else if (index >= 0) result[index] = next;
    else result.push(next);
  }
  return result;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** RFC 6902. */
function jsonPatched(before: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new PatchError('a JSON patch is a list of operations');
  const root = { document: structuredClone(before) };
  for (const operation of patch as readonly Operation[]) perform(root, operation);
  return root.document;
}

function perform(root: { document: unknown }, operation: Operation): void {
  const { op, path, value } = operation;
  const place = placeOf(root, path);
  if (op === 'test') {
    if (!isDeepStrictEqual(place.read(), value)) throw new PatchError(`the test of ${path} failed`);
  } else if (op === 'add') place.add(structuredClone(value));
  else if (op === 'replace' || op === 'remove') {
    if (place.read() === undefined) throw new PatchError(`there is no ${path}`);
    place.remove();
    if (op === 'replace') place.add(structuredClone(value));
  } else if (op === 'move' || op === 'copy') {
    const source = placeOf(root, operation.from ?? '');
    const moved = structuredClone(source.read());
    if (moved === undefined) throw new PatchError(`there is no ${operation.from}`);
    if (op === 'move') source.remove();
    placeOf(root, path).add(moved);
  } else throw new PatchError(`the operation "${op}" is not known`);
}

/** Where a JSON pointer leads. */
interface Place {
  read(): unknown;
  add(value: unknown): void;
  remove(): void;
}

function placeOf(root: { document: unknown }, pointer: string): Place {
  const parts = `/document${pointer}`
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = parts.at(-1) ?? '';
  let parent: unknown = root;
  for (const part of parts.slice(0, -1)) parent = (parent as Record<string, unknown> | undefined)?.[part];
  if (Array.isArray(parent)) {
    const list: unknown[] = parent;
    const index = last === '-' ? list.length : Number(last);
    if (!Number.isInteger(index) || index < 0 || index > list.length) throw new PatchError(`there is no ${pointer}`);
    return {
      read: () => list[index],
      add: (value) => void list.splice(index, 0, value),
      remove: () => void list.splice(index, 1),
    };
  }
  if (!isFields(parent)) throw new PatchError(`there is nothing to hold ${pointer}`);
  const fields = parent;
  return {
    read: () => fields[last],
    add: (value) => {
      fields[last] = value;
    },
    remove: () => {
      delete fields[last];
    },
  };
}
