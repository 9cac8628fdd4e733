import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { listAll } from './lists.ts';
import type { Condition, KubeObject } from './objects.ts';
import { parseTime } from './times.ts';

/** One API group version, served by the API server itself or by an extension API server behind it. */
export interface ApiService {
  /** `v1beta1.metrics.k8s.io` */
  readonly name: string;
  /** `namespace/name` of the Service of an extension API server; `undefined` for what the API server serves itself. */
  readonly extension: string | undefined;
  readonly available: boolean;
  /** Reason and message of the Available condition. */
  readonly reason: string;
  readonly message: string;
  /** Since when it is as it is, ms since the epoch. */
  readonly since: number | undefined;
}

interface ApiServiceObject extends KubeObject {
  readonly spec: { readonly service?: { readonly namespace?: string; readonly name?: string } | null };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/**
 * Every APIService as this API server sees it, sorted by name. Each API server probes extension API servers by itself with
 * its own front-proxy certificate, and all of them write to the same object: the condition is that of whoever wrote last.
 */
export async function listApiServices(client: KubeClient, options: CallOptions = {}): Promise<readonly ApiService[]> {
  const { items } = await listAll<ApiServiceObject>(client, {
    path: pathOf('apis', 'apiregistration.k8s.io', 'v1', 'apiservices'),
    doing: 'list the APIServices',
    ...options,
  });
  return items
    .map(({ metadata, spec, status }) => {
      const condition = status?.conditions?.find(({ type }) => type === 'Available');
      const service = spec.service ?? undefined;
      return {
        name: metadata.name,
        extension: service === undefined ? undefined : `${service.namespace ?? ''}/${service.name ?? ''}`,
        available: condition?.status === 'True',
        reason: condition?.reason ?? '',
        message: condition?.message ?? '',
        since: parseTime(condition?.lastTransitionTime),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
