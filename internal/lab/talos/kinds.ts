import { CLUSTER_KINDS } from './kinds-cluster.ts';
import { COMPONENT_KINDS } from './kinds-components.ts';
import { KUBERNETES_KINDS } from './kinds-kubernetes.ts';
import { metaKinds } from './kinds-meta.ts';
import { RUNTIME_KINDS } from './kinds-runtime.ts';
import { SECRET_KINDS } from './kinds-secrets.ts';
import type { Kind } from './resource-store.ts';

/** Every kind of resource that machines of a lab know. */
export const KINDS: readonly Kind[] = [
  ...RUNTIME_KINDS,
  ...CLUSTER_KINDS,
  ...KUBERNETES_KINDS,
  ...COMPONENT_KINDS,
  ...SECRET_KINDS,
  ...metaKinds(() => KINDS),
];
