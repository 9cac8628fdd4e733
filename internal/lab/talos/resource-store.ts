import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { BootFacts } from './boot.ts';
import { KINDS } from './kinds.ts';

/** What a kind of resource is, and which of it a machine has. */
export interface Kind {
  /** `Members.cluster.talos.dev`. */
  readonly type: string;
  readonly namespace: string;
  /** `Member`. */
  readonly display: string;
  /** Holds keys or the whole configuration: os:admin only. */
  readonly isSensitive?: boolean;
  /** What `talosctl get` prints besides the ID: name and JSONPath into the YAML. */
  readonly columns?: readonly (readonly [name: string, jsonPath: string])[];
  list(facts: BootFacts): readonly MadeResource[];
}

/** One resource as a kind makes it. */
export interface MadeResource {
  readonly id: string;
  /** Where the world counts it; counted here by content otherwise. */
  readonly version?: bigint | undefined;
  readonly proto: Uint8Array;
  /** The same for people, as YAML; text stands as it is. */
  readonly yaml: unknown;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One resource as it goes over the wire. */
export interface StoredResource {
  readonly kind: Kind;
  readonly id: string;
  readonly version: bigint;
  /** Milliseconds since the epoch, as the next one. */
  readonly created: number;
  readonly updated: number;
  readonly proto: Buffer;
  readonly yaml: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A change that watchers are told. */
export type ResourceChange =
  | { readonly type: 'created' | 'destroyed'; readonly resource: StoredResource }
  | { readonly type: 'updated'; readonly resource: StoredResource; readonly old: StoredResource };

/** The resources of one boot. */
export interface ResourceStore {
  /** By type, upper and lower case as written. */
  kind(type: string): Kind | undefined;
  /** Sorted by ID. */
  list(kind: Kind): readonly StoredResource[];
  get(kind: Kind, id: string): StoredResource | undefined;
  /** Told of every change of that kind from now on; returns what ends it. */
  watch(kind: Kind, listener: (change: ResourceChange) => void): () => void;
  /** Takes up what happened in the world. */
  observe(): void;
}

/** The store of a boot. */
export function createResourceStore(facts: BootFacts): ResourceStore {
  const known = new Map<string, { readonly resource: StoredResource; readonly digest: string }>();
  const watches = new Map<Kind, Set<(change: ResourceChange) => void>>();
  const seen = new Map<Kind, readonly StoredResource[]>();

  function store(kind: Kind, made: MadeResource): StoredResource {
    const key = `${kind.type}/${made.id}`;
    const before = known.get(key);
    const digest = digestOf(made);
    if (before?.digest === digest) return before.resource;
    const now = facts.lab.world.clock.now();
    const resource: StoredResource = {
      kind,
      id: made.id,
      version: made.version ?? (before === undefined ? 1n : before.resource.version + 1n),
      created: before?.resource.created ?? facts.startedAt,
      updated: before === undefined ? facts.startedAt : now,
      proto: Buffer.from(made.proto),
      yaml: typeof made.yaml === 'string' ? made.yaml : stringify(made.yaml, { lineWidth: 0 }),
      annotations: made.annotations ?? {},
    };
    known.set(key, { resource, digest });
    return resource;
  }

  function list(kind: Kind): readonly StoredResource[] {
    const found = kind.list(facts).map((made) => store(kind, made));
    return found.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  function observeKind(kind: Kind, listeners: ReadonlySet<(change: ResourceChange) => void>): void {
    const before = seen.get(kind) ?? [];
    const after = list(kind);
    seen.set(kind, after);
    for (const change of changesBetween(before, after)) {
      for (const listener of [...listeners]) listener(change);
    }
  }

  return {
    kind: (type) => KINDS.find((kind) => kind.type === type),
    list,
    get: (kind, id) => list(kind).find((resource) => resource.id === id),
    watch(kind, listener) {
      const listeners = watches.get(kind) ?? new Set();
      // What is there already is no change.
      if (listeners.size === 0) seen.set(kind, list(kind));
      watches.set(kind, listeners.add(listener));
      return () => listeners.delete(listener);
    },
    observe() {
      for (const [kind, listeners] of watches) if (listeners.size > 0) observeKind(kind, listeners);
    },
  };
}

function changesBetween(before: readonly StoredResource[], after: readonly StoredResource[]): ResourceChange[] {
  const old = new Map(before.map((resource) => [resource.id, resource]));
  const now = new Set(after.map(({ id }) => id));
  return [
    ...before.filter(({ id }) => !now.has(id)).map((resource) => ({ type: 'destroyed' as const, resource })),
    ...after.flatMap((resource): ResourceChange[] => {
      const previous = old.get(resource.id);
      if (previous === undefined) return [{ type: 'created', resource }];
      return previous === resource ? [] : [{ type: 'updated', resource, old: previous }];
    }),
  ];
}

function digestOf({ version, proto, yaml }: MadeResource): string {
  return createHash('sha256')
    .update(`${version} `)
    .update(proto)
    .update(typeof yaml === 'string' ? yaml : JSON.stringify(yaml))
    .digest('hex');
}
