import type { WatchEvent, WatchRequest } from './client.ts';
import { type Binding, createAgent } from './connect.ts';
import { KubeError } from './errors.ts';
import { type Call, explain, failed, send } from './exchange.ts';
import { readReply, type StatusBody, watchRefusal } from './reply.ts';

/** An API server sends a bookmark about once a minute; a longer silence is a dead connection. */
const IDLE_MS = 90_000;

/** One event may not be larger than this; etcd itself refuses objects above 1.5 MiB. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/**
 * One watch over a connection of its own, so that it never waits behind calls and its end breaks nothing else.
 * Ends without an error when the server ends it (it does so after some minutes: go on from the last resource version)
 * and when the signal aborts. Throws a KubeError otherwise; `expired` means that the list must be read again.
 */
export async function* watchOver<T>(binding: Binding, request: WatchRequest): AsyncGenerator<WatchEvent<T>> {
  const idleMs = request.idleMs ?? IDLE_MS;
  const call: Call = {
    binding,
    request: {
      method: 'GET',
      path: request.path,
      query: { ...request.query, watch: true, allowWatchBookmarks: true, resourceVersion: request.resourceVersion },
      doing: request.doing,
    },
    stop: new AbortController(),
    phase: 'connecting',
  };
  const agent = createAgent(binding, { keep: false });
  const onCancel = (): void => call.stop.abort(failed(call, 'cancelled', 'the caller gave up'));
  request.signal?.addEventListener('abort', onCancel, { once: true });
  if (request.signal?.aborted) onCancel();
  const silence = watchdog(idleMs, binding, () =>
    call.stop.abort(failed(call, 'timeout', `the server has said nothing for ${idleMs} ms`)),
  );
  try {
    const message = await send(call, agent);
    if (message.statusCode !== 200) {
      const body = Buffer.concat(await message.toArray());
      readReply(binding.server, call.request, { status: message.statusCode ?? 0, headers: message.headers, body });
    }
    for await (const line of linesOf(message as AsyncIterable<Buffer>, silence.reset, call)) {
      const event = JSON.parse(line) as { type: string; object: unknown };
      if (event.type === 'ERROR') throw watchRefusal(binding.server, request.doing, event.object as StatusBody);
      yield event as WatchEvent<T>;
      // The caller may take its time with an event; only the server's silence counts.
      silence.reset();
    }
  } catch (error) {
    if (request.signal?.aborted) return;
    throw error instanceof SyntaxError
      ? failed(call, 'unexpected-reply', `an event of the watch is not JSON: ${error.message}`)
      : explain(error, call);
  } finally {
    silence.stop();
    request.signal?.removeEventListener('abort', onCancel);
    call.stop.abort(
      new KubeError({
        kind: 'cancelled',
        server: binding.server,
        doing: request.doing,
        found: 'the watch is over',
        outcome: 'not-done',
      }),
    );
    agent.destroy();
  }
}

async function* linesOf(chunks: AsyncIterable<Buffer>, heard: () => void, call: Call): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    heard();
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const line = rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
      if (line !== '') yield line;
    }
    if (rest.length > MAX_EVENT_BYTES)
      throw failed(call, 'too-large', `an event is larger than ${MAX_EVENT_BYTES} bytes`);
  }
}

/** Calls `bark` when `reset` was not called for `ms`. */
function watchdog(ms: number, binding: Binding, bark: () => void): { reset(): void; stop(): void } {
  let current = new AbortController();
  const arm = (): void => {
    binding.clock.sleep(ms, current.signal).then(bark, () => undefined);
  };
  arm();
  return {
    reset() {
      current.abort();
      current = new AbortController();
      arm();
    },
    stop: () => current.abort(),
  };
}
