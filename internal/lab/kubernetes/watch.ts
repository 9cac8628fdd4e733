import type { KubeObject } from '../../../pkg/kube/index.ts';
import {
  apiVersionOf,
  type Change,
  failure,
  type History,
  type Resource,
  type Selection,
} from '../../simulator/kube/index.ts';
import type { Response } from './port.ts';
import { type Form, type Printing, representEvent } from './representation.ts';

/** What is watched, and how. */
export interface WatchOptions {
  readonly history: History;
  readonly resource: Resource;
  readonly selection: Selection;
  readonly query: Readonly<Record<string, string>>;
  readonly form: Form;
  printing(): Printing;
  /** Changes before this are not known to the API server that is asked: it began with this version. */
  readonly beganAt: number;
}

/** A watch ends after a time between these two, unless the client names one. */
const SHORTEST_MS = 30 * 60_000;
const SPREAD_MS = 30 * 60_000;

const BOOKMARK_MS = 60_000;

/** So much may be on its way to somebody who watches. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;

/** Sends what happens to a resource until the client goes, the time is over or the connection ends. */
export function watch(response: Response, options: WatchOptions): void {
  const { history, resource, selection, query } = options;
  history.refresh();
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
  let isFirst = true;
  const write = (event: Event): void => {
    const form = representEvent(event, resource, options.form, { ...options.printing(), isFirst });
    isFirst = false;
    response.write(`${JSON.stringify(form)}\n`);
    // Whoever does not read is let go, as kube-apiserver does: he can list again.
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
  };
  const asked = query.resourceVersion ?? '';
  const isFromNow = asked === '' || asked === '0' || query.sendInitialEvents === 'true';
  let at = isFromNow ? history.latest() : Number(asked);
  if (!isFromNow && (at < options.beganAt || history.since(resource, at) === undefined)) {
    const message = `too old resource version: ${asked} (${Math.max(options.beganAt, history.latest())})`;
    response.end(`${JSON.stringify({ type: 'ERROR', object: failure(410, 'Expired', message).body })}\n`);
    return;
  }
  if (isFromNow && query.sendInitialEvents !== 'false') {
    for (const object of history.list(resource).filter(selection.matches)) write({ type: 'ADDED', object });
  }
  const wantsBookmarks = query.allowWatchBookmarks === 'true';
  if (query.sendInitialEvents === 'true' && wantsBookmarks)
    write(bookmark(resource, at, { 'k8s.io/initial-events-end': 'true' }));

  const pass = (): void => {
    for (const change of history.since(resource, at) ?? []) {
      at = change.revision;
      const event = eventOf(change, selection);
      if (event !== undefined) write(event);
    }
    at = history.latest();
  };
  // A head without a body does not leave by itself.
  response.flushHeaders();
  const end = history.subscribe(pass);
  pass();
  const bookmarks = setInterval(() => {
    if (wantsBookmarks) write(bookmark(resource, at));
  }, BOOKMARK_MS);
  const timeoutMs = Number(query.timeoutSeconds ?? 0) * 1_000 || SHORTEST_MS + Math.random() * SPREAD_MS;
  const over = setTimeout(() => response.end(), timeoutMs);
  response.on('close', () => {
    end();
    clearInterval(bookmarks);
    clearTimeout(over);
  });
}

interface Event {
  readonly type: Change['type'] | 'BOOKMARK';
  readonly object: KubeObject;
}

/** What a change is for somebody who sees only a selection: what leaves it is deleted, what enters it is new. */
function eventOf({ type, object, before }: Change, { matches }: Selection): Event | undefined {
  const is = matches(object);
  const was = before !== undefined && matches(before);
  if (type === 'DELETED') return was ? { type, object } : undefined;
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object };
  return was ? { type: 'DELETED', object } : undefined;
}

function bookmark(resource: Resource, revision: number, annotations?: Readonly<Record<string, string>>): Event {
  const metadata = { resourceVersion: String(revision), creationTimestamp: null, ...(annotations && { annotations }) };
  const object = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata };
  return { type: 'BOOKMARK', object: object as unknown as KubeObject };
}
