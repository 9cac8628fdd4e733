import type { CallOptions, KubeClient } from './client.ts';

/** What one API server says about itself at `/readyz`. */
export interface ApiServerHealth {
  /** It may be sent requests. */
  readonly ready: boolean;
  /** Names of the checks that fail, sorted; such as `etcd`, `informer-sync`, `storage-readiness`. */
  readonly failing: readonly string[];
}

/**
 * Asks the one API server that the client is bound to. An answer of "not ready" is a value; no answer is a KubeError.
 * With `fresh: true` the answer comes over a new connection, so it is by the instance that listens now: an instance that
 * shuts down keeps serving its old connections after it has closed its port (measured: up to 60 s).
 */
export async function readApiServerHealth(client: KubeClient, options: CallOptions = {}): Promise<ApiServerHealth> {
  const text = await client.request<string>({
    method: 'GET',
    path: '/readyz',
    query: { verbose: true },
    reply: 'text',
    alsoAccept: [500],
    doing: 'ask /readyz',
    ...options,
  });
  // One line a check, `[+]ping ok` or `[-]etcd failed: reason withheld`, and a last line that sums up.
  const failing = text.includes('[-]') ? [...text.matchAll(/^\[-\](\S+)/gm)].map((match) => match[1] ?? '') : [];
  return { ready: failing.length === 0 && /check passed\s*$/.test(text), failing: failing.sort() };
}
