import type { KubeObject } from '../../../pkg/kube/index.ts';
import type { World } from '../world.ts';
import type { Resource } from './resource.ts';

/** The objects of a world as one reader sees them, with the versions that preconditions are compared with. */
export interface View {
  /** To be called after a write, before anything is read again. */
  refresh(): void;
  /** Version of the whole. */
  revision(): string;
  list(resource: Resource): readonly KubeObject[];
  find(resource: Resource, namespace: string | undefined, name: string): KubeObject | undefined;
}

/** Objects straight from the world: enough for whoever does not watch. */
export function plainView(world: World): View {
  return {
    refresh() {},
    revision: () => String(world.kubernetes.storage.revision),
    list: (resource) => resource.list(world),
    find(resource, namespace, name) {
      if (resource.find !== undefined) return resource.find(world, name);
      return resource
        .list(world)
        .find(({ metadata }) => metadata.name === name && (!resource.namespaced || metadata.namespace === namespace));
    },
  };
}
