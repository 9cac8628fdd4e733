import type { CallOptions, KubeClient, KubeRequest, QueryValue } from './client.ts';
import { isKubeError } from './errors.ts';

/** What is listed and how. */
export interface ListRequest extends CallOptions {
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  /** Only metadata of each object: what is not read cannot leak, and costs nothing. */
  readonly metadataOnly?: boolean | undefined;
  readonly doing: string;
  /** Objects in one page; 500 when absent. */
  readonly pageSize?: number | undefined;
}

/** A list that is complete and consistent as of one resource version. */
export interface CompleteList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

interface ListPage<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

const PAGE_SIZE = 500;

/** So often is a list begun again whose snapshot ran out under it; each page must then be slower than minutes. */
const STARTS = 3;

/**
 * Every object of a list, page by page from one snapshot, and never a part of it: when the server has given up the
 * snapshot (410 on a continue token) the list starts over. Throws the KubeError of the page that failed.
 */
export async function listAll<T>(client: KubeClient, request: ListRequest): Promise<CompleteList<T>> {
  for (let start = 1; ; start += 1) {
    try {
      return await listOnce<T>(client, request);
    } catch (error) {
      if (!isKubeError(error, 'expired') || start === STARTS) throw error;
    }
  }
}

async function listOnce<T>(client: KubeClient, request: ListRequest): Promise<CompleteList<T>> {
  const items: T[] = [];
  let next: string | undefined;
  for (;;) {
    const page: ListPage<T> = await client.request<ListPage<T>>(pageRequest(request, next));
    items.push(...(page.items ?? []));
    next = page.metadata?.continue;
    if (next === undefined || next === '') return { items, resourceVersion: page.metadata?.resourceVersion ?? '' };
  }
}

function pageRequest(request: ListRequest, next: string | undefined): KubeRequest {
  return {
    method: 'GET',
    path: request.path,
    query: { ...request.query, limit: request.pageSize ?? PAGE_SIZE, continue: next },
    reply: request.metadataOnly ? 'metadata' : 'json',
    doing: request.doing,
    signal: request.signal,
    fresh: request.fresh,
    deadlineMs: request.deadlineMs,
  };
}
