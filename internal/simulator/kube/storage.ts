import { createHash } from 'node:crypto';
import type { KubeObject } from '../../../pkg/kube/index.ts';
import type { Resource } from './resource.ts';

/** Objects that somebody wrote and that mean nothing to the world itself: they are kept as they came. */
export interface Storage {
  /** Counts every write. */
  readonly revision: number;
  list(resource: Resource): readonly KubeObject[];
  find(resource: Resource, namespace: string | undefined, name: string): KubeObject | undefined;
  /** Keeps an object under its namespace and name, with a new version. */
  put(resource: Resource, object: KubeObject): void;
  delete(resource: Resource, object: KubeObject): void;
  /** Forgets everything in a namespace. */
  clear(namespace: string): void;
}

/** Revisions begin where those of a cluster that has been up for a while would be. */
const FIRST_REVISION = 1_000;

const NOTHING: readonly KubeObject[] = [];

/** An empty storage. */
export function createStorage(): Storage {
  const kept = new Map<Resource, Map<string, KubeObject>>();
  let revision = FIRST_REVISION;
  const of = (resource: Resource): Map<string, KubeObject> => {
    const known = kept.get(resource);
    if (known !== undefined) return known;
    const objects = new Map<string, KubeObject>();
    kept.set(resource, objects);
    return objects;
  };
  return {
    get revision() {
      return revision;
    },
    list: (resource) => (kept.has(resource) ? [...of(resource).values()] : NOTHING),
    find: (resource, namespace, name) => of(resource).get(keyOf(namespace, name)),
    put(resource, object) {
      revision += 1;
      const { namespace, name } = object.metadata;
      const metadata = { ...object.metadata, resourceVersion: String(revision) };
      of(resource).set(keyOf(namespace, name), { ...object, metadata });
    },
    delete(resource, { metadata }) {
      revision += 1;
      of(resource).delete(keyOf(metadata.namespace, metadata.name));
    },
    clear(namespace) {
      revision += 1;
      for (const objects of kept.values()) {
        for (const [key, { metadata }] of objects) if (metadata.namespace === namespace) objects.delete(key);
      }
    },
  };
}

/** How objects are told apart within a resource. */
export function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/** A UID that is the same for the same text. */
export function uidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
