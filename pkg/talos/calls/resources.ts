import {
  EventType,
  GetRequest,
  ListRequest,
  type Event as ProtoEvent,
  type Resource as ProtoResource,
  StateService,
  WatchRequest,
} from '../../../proto/generated/cosi/resource.ts';
import { isTalosError } from '../errors.ts';
import { type CallKind, collect } from '../invoke.ts';
import type { TalosMachine } from '../machine.ts';
import type { Resource, ResourceEvent, ResourceKind } from '../resource.ts';
import { errorText, TransportFailure } from '../transport/failure.ts';
import { type CallContext, milliseconds } from './context.ts';

/** Since version 1 of the watch, the server also sends BOOTSTRAPPED and ERRORED. */
const WATCH_API_VERSION = 1;

export type ResourceCalls = Pick<TalosMachine, 'get' | 'list' | 'watch'>;

/** Reading the COSI state of the machine. Talos allows no writing through its API. */
export function createResourceCalls({ invoker, deadlines }: CallContext): ResourceCalls {
  function read<Spec>(kind: ResourceKind<Spec>, call: CallKind, resource: ProtoResource | undefined): Resource<Spec> {
    try {
      return readResource(kind, resource);
    } catch (error) {
      throw invoker.failure(call, new TransportFailure('malformed', 'not-done', errorText(error)));
    }
  }

  return {
    async get(kind, options = {}) {
      const id = options.id ?? kind.id ?? '';
      const call = { call: `Get ${kind.type}/${id}`, deadlineMs: deadlines.readMs };
      const request = GetRequest.fromPartial({ namespace: kind.namespace, type: kind.type, id });
      try {
        const reply = await invoker.unary(StateService.get, request, call, options);
        return read(kind, call, reply.resource);
      } catch (error) {
        if (isTalosError(error, 'not-found')) return undefined;
        throw error;
      }
    },

    async list(kind, options) {
      const call = { call: `List ${kind.type}`, deadlineMs: deadlines.streamMs };
      const request = ListRequest.fromPartial({ namespace: kind.namespace, type: kind.type });
      const replies = await collect(invoker.stream(StateService.list, request, call, options));
      return replies.map((reply) => read(kind, call, reply.resource));
    },

    async *watch(kind, options = {}) {
      const id = options.id ?? kind.id;
      const call = { call: `Watch ${kind.type}${id === undefined ? '' : `/${id}`}`, deadlineMs: deadlines.watchMs };
      const request = WatchRequest.fromPartial({
        namespace: kind.namespace,
        type: kind.type,
        apiVersion: WATCH_API_VERSION,
        // A watch of one resource always starts with its state and refuses this option.
        ...(id === undefined ? { options: { bootstrapContents: true } } : { id }),
      });
      for await (const reply of invoker.stream(StateService.watch, request, call, options)) {
        for (const event of reply.event) {
          const seen = readEvent(event, (resource) => read(kind, call, resource));
          if (seen instanceof TransportFailure) throw invoker.failure(call, seen);
          if (seen !== undefined) yield seen;
        }
      }
      throw invoker.failure(call, new TransportFailure('interrupted', 'not-done', 'the machine ended the watch'));
    },
  };
}

function readEvent<Spec>(
  event: ProtoEvent,
  read: (resource: ProtoResource | undefined) => Resource<Spec>,
): ResourceEvent<Spec> | TransportFailure | undefined {
  switch (event.eventType) {
    case EventType.CREATED:
      return { type: 'created', resource: read(event.resource) };
    case EventType.UPDATED:
      return { type: 'updated', resource: read(event.resource) };
    case EventType.DESTROYED:
      return { type: 'destroyed', id: event.resource?.metadata?.id ?? '' };
    case EventType.BOOTSTRAPPED:
      return { type: 'bootstrapped' };
    case EventType.ERRORED:
      return new TransportFailure('interrupted', 'not-done', event.error ?? 'the watch failed on the machine');
    default:
      return undefined;
  }
}

function readResource<Spec>(kind: ResourceKind<Spec>, resource: ProtoResource | undefined): Resource<Spec> {
  const metadata = resource?.metadata;
  if (metadata === undefined || resource?.spec === undefined) throw new Error('the reply holds no resource');
  return {
    metadata: {
      namespace: metadata.namespace,
      type: metadata.type,
      id: metadata.id,
      version: readVersion(metadata.version),
      phase: metadata.phase === 'tearingDown' ? 'tearingDown' : 'running',
      owner: metadata.owner,
      created: milliseconds(metadata.created),
      updated: milliseconds(metadata.updated),
      finalizers: metadata.finalizers,
      labels: metadata.labels,
      annotations: metadata.annotations,
    },
    spec: kind.decode(resource.spec.protoSpec),
  };
}

function readVersion(version: string): bigint {
  if (version === 'undefined') return 0n;
  if (!/^\d+$/.test(version)) throw new Error(`the version "${version}" is not a number`);
  return BigInt(version);
}
