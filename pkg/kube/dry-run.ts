import type { KubeClient } from './client.ts';

/**
 * The same client for which every change is a server-side dry run (`dryRun=All`): the server authorizes, admits and
 * validates it, asks PodDisruptionBudgets of an eviction, answers as it would, and stores nothing. Reads are reads.
 */
export function withDryRun(client: KubeClient): KubeClient {
  return {
    ...client,
    request: (request) =>
      client.request(request.method === 'GET' ? request : { ...request, query: { ...request.query, dryRun: 'All' } }),
  };
}
