import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { listAll } from './lists.ts';
import type { OwnerReference, PodObject } from './objects.ts';

const PODS = pathOf('api', 'v1', 'pods');

/** Every pod of one node, finished ones too. */
export async function podsOnNode(
  client: KubeClient,
  node: string,
  options: CallOptions = {},
): Promise<readonly PodObject[]> {
  const { items } = await listAll<PodObject>(client, {
    path: PODS,
    query: { fieldSelector: `spec.nodeName=${node}` },
    doing: `list the pods of the node ${node}`,
    ...options,
  });
  return items;
}

/** Which pods are listed; those of the whole cluster unless said. */
export interface PodQuery extends CallOptions {
  readonly namespace?: string | undefined;
  /** As kubectl writes it: `app in (web, db)`. */
  readonly labelSelector?: string | undefined;
}

/** Every pod of the cluster, or some. */
export async function listPods(client: KubeClient, options: PodQuery = {}): Promise<readonly PodObject[]> {
  const { namespace, labelSelector, ...call } = options;
  const { items } = await listAll<PodObject>(client, {
    query: { labelSelector },
    path: namespace === undefined ? PODS : pathOf('api', 'v1', 'namespaces', namespace, 'pods'),
    doing: namespace === undefined ? 'list all pods' : `list the pods of ${namespace}`,
    ...call,
  });
  return items;
}

/** The owner that keeps a pod alive, if any does. */
export function controllerOf(pod: { readonly metadata: PodObject['metadata'] }): OwnerReference | undefined {
  return pod.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** A static pod of the kubelet, which the API server only shows: it cannot be evicted and does not use the API. */
export function isMirrorPod(pod: PodObject): boolean {
  return pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
}

/** It has run to its end; nothing of it is running. */
export function isFinished(pod: PodObject): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** Whether the pod mounts the ConfigMap `kube-root-ca.crt`, by itself or in a projected volume (every token mount does). */
export function mountsRootCa(pod: PodObject): boolean {
  return (pod.spec.volumes ?? []).some(
    (volume) =>
      volume.configMap?.name === ROOT_CA ||
      (volume.projected?.sources ?? []).some((source) => source.configMap?.name === ROOT_CA),
  );
}

const ROOT_CA = 'kube-root-ca.crt';

/** Names of the Secrets that the pod mounts. */
export function mountedSecrets(pod: PodObject): readonly string[] {
  const names = (pod.spec.volumes ?? []).flatMap((volume) => [
    volume.secret?.secretName,
    ...(volume.projected?.sources ?? []).map((source) => source.secret?.name),
  ]);
  return names.filter((name) => name !== undefined);
}
