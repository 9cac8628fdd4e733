import type { KubeObject } from '../../../pkg/kube/index.ts';
import type { World } from '../world.ts';
import { RESOURCES } from './registry.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { keyOf } from './storage.ts';
import type { View } from './view.ts';

/** One thing that happened to one object. */
export interface Change {
  /** Version of the whole after it. */
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: Resource;
  /** As it is after the change; a deleted one as it was last. */
  readonly object: KubeObject;
  /** As it was before; undefined for a new one. */
  readonly before: KubeObject | undefined;
}

/**
 * The objects of a world with versions that count every change, whoever made it, and the changes themselves: what
 * watches are made of. One for all API servers of a world, as the revisions are those of its etcd.
 */
export interface History extends View {
  /** The newest version. */
  latest(): number;
  /** What happened to a resource after a version, oldest first; undefined where that is forgotten already. */
  since(resource: Resource, revision: number): readonly Change[] | undefined;
  /** Called after every look that found something. Returns what ends it. */
  subscribe(listener: () => void): () => void;
}

/** So many changes are remembered; a watch that begins before them has to list again. */
const REMEMBERED = 4_000;

/** Where the versions begin. */
const FIRST_REVISION = 1_000;

interface Seen {
  /** What the world gave; the same one again has not changed. */
  readonly raw: KubeObject;
  /** Its bytes without the version. */
  readonly text: string;
  readonly object: KubeObject;
}

/** The history of a world from now on. */
export function createHistory(world: World, options: { readonly remembered?: number } = {}): History {
  const remembered = options.remembered ?? REMEMBERED;
  const seen = new Map<Resource, Map<string, Seen>>(RESOURCES.map((resource) => [resource, new Map()]));
  const listeners = new Set<() => void>();
  let changes: Change[] = [];
  let revision = FIRST_REVISION;
  let forgotten = FIRST_REVISION;

  function note(type: Change['type'], resource: Resource, object: KubeObject, before: KubeObject | undefined): void {
    changes.push({ revision, type, resource, object, before });
  }

  function stamped(resource: Resource, raw: KubeObject): KubeObject {
    revision += 1;
    const metadata = { ...raw.metadata, resourceVersion: String(revision) };
    return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...raw, metadata } as KubeObject;
  }

  function drop(resource: Resource, key: string, { object }: Seen): void {
    seen.get(resource)?.delete(key);
    note('DELETED', resource, stamped(resource, object), object);
  }

  function compare(resource: Resource, key: string, raw: KubeObject, old: Seen | undefined): Seen {
    if (old?.raw === raw) return old;
    const text = JSON.stringify({ ...raw, metadata: { ...raw.metadata, resourceVersion: undefined } });
    if (old?.text === text) return { ...old, raw };
    // Another one of the same name: the first one is gone.
    const isSame = old?.object.metadata.uid === raw.metadata.uid;
    if (old !== undefined && !isSame) drop(resource, key, old);
    const object = stamped(resource, raw);
    note(isSame ? 'MODIFIED' : 'ADDED', resource, object, isSame ? old?.object : undefined);
    return { raw, text, object };
  }

  function look(resource: Resource, known: Map<string, Seen>): void {
    const present = new Set<string>();
    for (const raw of resource.list(world)) {
      const key = keyOf(raw.metadata.namespace, raw.metadata.name);
      present.add(key);
      known.set(key, compare(resource, key, raw, known.get(key)));
    }
    for (const [key, old] of known) if (!present.has(key)) drop(resource, key, old);
  }

  function forget(): void {
    if (changes.length <= remembered) return;
    const gone = changes.splice(0, changes.length - remembered);
    forgotten = gone.at(-1)?.revision ?? forgotten;
  }

  function refresh(): void {
    const before = revision;
    for (const [resource, known] of seen) look(resource, known);
    if (revision === before) return;
    forget();
    for (const listener of [...listeners]) listener();
  }

  refresh();
  // What is there from the start is no news.
  changes = [];
  forgotten = revision;
  return {
    refresh,
    latest: () => revision,
    revision: () => String(revision),
    list: (resource) =>
      [...(seen.get(resource) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { object }]) => object),
    find: (resource, namespace, name) =>
      seen.get(resource)?.get(keyOf(resource.namespaced ? namespace : undefined, name))?.object,
    since(resource, after) {
      if (after < forgotten) return undefined;
      return changes.filter((change) => change.revision > after && change.resource === resource);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
