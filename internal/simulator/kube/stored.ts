import type { KubeObject } from '../../../pkg/kube/index.ts';
import type { World } from '../world.ts';
import type { ApiReply } from './request.ts';
import type { Removal, Resource, Write } from './resource.ts';

/** What is said about a resource whose objects people write; where its objects are follows. */
export type StoredOptions = Omit<Resource, 'list' | 'find' | 'create' | 'update' | 'remove'> & {
  /** Objects that the cluster itself keeps besides. */
  readonly own?: (world: World) => readonly KubeObject[];
  /** What becomes of the deletion of one of those. Without it that does nothing: the cluster writes it again. */
  readonly removeOwn?: (world: World, removal: Removal) => ApiReply | undefined;
  /** Completes or refuses what is about to be stored. */
  readonly admit?: (object: KubeObject) => { readonly object: KubeObject } | { readonly refusal: ApiReply };
};

/** A resource that is kept as it is written, beside what the cluster itself keeps there. */
export function stored(options: StoredOptions): Resource {
  const { own = () => [], removeOwn, admit = (object) => ({ object }), ...described } = options;
  const put = (world: World, object: KubeObject): ApiReply | undefined => {
    const admitted = admit(object);
    if ('refusal' in admitted) return admitted.refusal;
    world.kubernetes.storage.put(resource, admitted.object);
    return undefined;
  };
  const isStored = (world: World, { metadata }: KubeObject): boolean =>
    world.kubernetes.storage.find(resource, metadata.namespace, metadata.name) !== undefined;
  const resource: Resource = {
    ...described,
    list(world) {
      const written = world.kubernetes.storage.list(resource);
      return written.length === 0 ? own(world) : [...own(world), ...written];
    },
    create: put,
    update(world, { before, after }: Write) {
      // What the cluster keeps itself it writes over within seconds.
      return isStored(world, before) ? put(world, after) : undefined;
    },
    remove(world, removal) {
      if (!isStored(world, removal.object)) return removeOwn?.(world, removal);
      world.kubernetes.storage.delete(resource, removal.object);
      return undefined;
    },
  };
  return resource;
}
