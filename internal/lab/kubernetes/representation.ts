import type { KubeObject } from '../../../pkg/kube/index.ts';
import type { ApiReply, Change, Column, Resource } from '../../simulator/kube/index.ts';

/** In which form a client wants objects: whole, as the rows of a table, or their metadata alone. */
export type Form = 'object' | 'table' | 'metadata';

/** Reads an Accept header: the first form in it that is served. */
export function formOf(accept: string | undefined): Form {
  for (const part of (accept ?? '').split(',')) {
    if (!/^\s*application\/json\s*(;|$)/.test(part)) continue;
    const as = /;\s*as=(\w+)/.exec(part)?.[1];
    if (as === undefined) return 'object';
    if (as === 'Table') return 'table';
    if (as.startsWith('PartialObjectMetadata')) return 'metadata';
  }
  return 'object';
}

interface ListBody {
  readonly metadata: object;
  readonly items: readonly KubeObject[];
}

/** What a table shows its rows with. */
export interface Printing {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether whole objects, their metadata, or nothing goes with each row. */
  readonly includeObject: string | undefined;
}

/** A reply about objects of a resource in the form that was asked for; refusals stay as they are. */
export function represent(reply: ApiReply, resource: Resource, form: Form, printing: Printing): ApiReply {
  if (reply.status >= 300) return reply;
  const body = reply.body as Partial<ListBody> & KubeObject;
  if (form === 'object')
    return body.items === undefined ? reply : { ...reply, body: { ...body, items: body.items.map(bare) } };
  if (body.items === undefined && (body as { kind?: string }).kind === 'Status') return reply;
  if (form === 'table') {
    const metadata = body.items === undefined ? { resourceVersion: body.metadata.resourceVersion } : body.metadata;
    return { ...reply, body: tableOf(resource, body.items ?? [body], printing, { metadata, withColumns: true }) };
  }
  if (body.items === undefined) return { ...reply, body: metadataOf(body) };
  const items = body.items.map(metadataOf);
  const kind = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' };
  return { ...reply, body: { ...kind, metadata: body.metadata, items } };
}

/** One event of a watch in the form that was asked for. Only the first table says what its columns are. */
export function representEvent(
  event: { readonly type: Change['type'] | 'BOOKMARK'; readonly object: KubeObject },
  resource: Resource,
  form: Form,
  printing: Printing & { readonly isFirst: boolean },
): object {
  const { type, object } = event;
  if (form === 'object') return event;
  if (form === 'metadata') return { type, object: metadataOf(object) };
  const metadata = { resourceVersion: object.metadata.resourceVersion };
  const rows = type === 'BOOKMARK' ? [] : [object];
  return { type, object: tableOf(resource, rows, printing, { metadata, withColumns: printing.isFirst }) };
}

/** Within a list objects do not say what they are: the list does. */
function bare(object: KubeObject): object {
  const {
    apiVersion: _apiVersion,
    kind: _kind,
    ...rest
  } = object as KubeObject & { apiVersion?: string; kind?: string };
  return rest;
}

function metadataOf({ metadata }: KubeObject): object {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}

function tableOf(
  { columns }: Resource,
  objects: readonly KubeObject[],
  { now, includeObject = 'Metadata' }: Printing,
  { metadata, withColumns }: { readonly metadata: object; readonly withColumns: boolean },
): object {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: withColumns ? columns.map(definitionOf) : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.value(object, now)),
      ...(includeObject === 'None' ? {} : { object: includeObject === 'Object' ? object : metadataOf(object) }),
    })),
  };
}

function definitionOf({ name, type, isName, wide }: Column): object {
  const format = isName === true ? 'name' : '';
  return { name, type, format, description: name, priority: wide === true ? 1 : 0 };
}
