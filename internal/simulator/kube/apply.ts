import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, toTime } from '../../../pkg/kube/index.ts';
import { isFields } from './fields.ts';

/** Who applies what, as `metadata.managedFields` has it. */
interface Manager {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  /** `{"f:data":{"f:a":{}}}`: a tree of the fields that are owned. */
  readonly fieldsV1?: Fields;
}

interface Fields {
  readonly [field: string]: Fields;
}

/** What an apply comes to. */
export type Applied =
  | { readonly ok: true; readonly object: KubeObject }
  /** Fields that somebody else owns and has set otherwise, as `.data.a`. */
  | { readonly ok: false; readonly conflicts: readonly { readonly path: string; readonly manager: string }[] };

/** One server-side apply. */
export interface ApplyOptions {
  readonly manager: string;
  /** Takes fields from whoever owns them. */
  readonly force: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Path = readonly string[];

/**
 * Server-side apply: the fields of `applied` are set and owned by `manager`; what the same manager applied before and
 * does not any more goes, unless somebody else owns it too. Lists are owned as a whole.
 */
export function applied(before: KubeObject | undefined, wanted: KubeObject, options: ApplyOptions): Applied {
  const { manager, force } = options;
  const leaves = leavesOf(wanted, []).filter(isOwnable);
  const managers = managersOf(before);
  const mine = managers.find((each) => each.manager === manager && each.operation === 'Apply');
  const others = managers.filter((each) => each !== mine);
  const conflicts = others.flatMap((other) =>
    leaves
      .filter((path) => owns(other, path) && !isDeepStrictEqual(at(before, path), at(wanted, path)))
      .map((path) => ({ path: `.${path.join('.')}`, manager: other.manager })),
  );
  if (conflicts.length > 0 && !force) return { ok: false, conflicts };
  const left = others.map((other) => ({
    ...other,
    fieldsV1: without(other.fieldsV1 ?? {}, contested(other, leaves, before, wanted)),
  }));
  const object = structuredClone(before ?? { metadata: wanted.metadata }) as unknown as Record<string, unknown>;
  for (const path of pathsOf(mine?.fieldsV1 ?? {}, [])) {
    const isKept = leaves.some((leaf) => isDeepStrictEqual(leaf, path)) || left.some((other) => owns(other, path));
    if (!isKept) unset(object, path);
  }
  for (const path of leaves) set(object, path, at(wanted, path));
  const entry: Manager = {
    manager,
    operation: 'Apply',
    apiVersion: (wanted as { apiVersion?: string }).apiVersion ?? 'v1',
    time: toTime(options.now),
    fieldsType: 'FieldsV1',
    fieldsV1: treeOf(leaves),
  };
  const isSame = isDeepStrictEqual(mine?.fieldsV1, entry.fieldsV1);
  const metadata = object.metadata as object;
  // The time is that of the last change of what is owned.
  const managedFields = [
    ...left.filter(({ fieldsV1 }) => Object.keys(fieldsV1).length > 0),
    isSame ? { ...entry, time: mine?.time } : entry,
  ];
  return { ok: true, object: { ...object, metadata: { ...metadata, managedFields } } as unknown as KubeObject };
}

function managersOf(object: KubeObject | undefined): readonly Manager[] {
  return (object?.metadata as { managedFields?: readonly Manager[] } | undefined)?.managedFields ?? [];
}

/** Identity is nobody's to own. */
function isOwnable([first, second]: Path): boolean {
  if (first === 'apiVersion' || first === 'kind' || first === 'status') return false;
  return first !== 'metadata' || second === 'labels' || second === 'annotations' || second === 'finalizers';
}

function leavesOf(value: unknown, path: Path): Path[] {
  if (!isFields(value)) return [path];
  const entries = Object.entries(value);
  return entries.length === 0 ? [path] : entries.flatMap(([field, inner]) => leavesOf(inner, [...path, field]));
}

function pathsOf(fields: Fields, path: Path): Path[] {
  const entries = Object.entries(fields);
  if (entries.length === 0) return path.length === 0 ? [] : [path];
  return entries.flatMap(([field, inner]) => pathsOf(inner, [...path, field.slice(2)]));
}

function treeOf(paths: readonly Path[]): Fields {
  const root: Record<string, unknown> = {};
  for (const path of paths)
    set(
      root,
      path.map((part) => `f:${part}`),
      {},
    );
  return root as Fields;
}

const owns = ({ fieldsV1 = {} }: Manager, path: Path): boolean =>
  pathsOf(fieldsV1, []).some((each) => isDeepStrictEqual(each, path));

function contested(other: Manager, leaves: readonly Path[], before: unknown, wanted: unknown): Path[] {
  return leaves.filter((path) => owns(other, path) && !isDeepStrictEqual(at(before, path), at(wanted, path)));
}

function without(fields: Fields, paths: readonly Path[]): Fields {
  return treeOf(pathsOf(fields, []).filter((path) => !paths.some((each) => isDeepStrictEqual(each, path))));
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, part) => (isFields(inner) ? inner[part] : undefined), value);
}

function set(root: Record<string, unknown>, path: Path, value: unknown): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    root[first] = value;
    return;
  }
  const inner = isFields(root[first]) ? root[first] : {};
  root[first] = inner;
  set(inner, rest, value);
}

function unset(root: Record<string, unknown>, path: Path): void {
  const [first = '', ...rest] = path;
  const inner = root[first];
  if (rest.length === 0) delete root[first];
  else if (isFields(inner)) unset(inner, rest);
}
