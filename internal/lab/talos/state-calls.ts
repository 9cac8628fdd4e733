import {
  type Event,
  EventType,
  type Resource,
  StateService,
  type WatchResponse,
} from '../../../proto/generated/cosi/resource.ts';
import { type Call, CODE, GrpcError, type Route, streaming, unary } from './grpc.ts';
import { NAMESPACES } from './kinds-meta.ts';
import { createQueue } from './queue.ts';
import type { Kind, ResourceChange, StoredResource } from './resource-store.ts';
import { maySee, maySeeSecrets } from './roles.ts';
import type { Session } from './session.ts';

/** The COSI state of a machine, for reading (`internal/app/resources/access.go`, cosi-project/runtime `pkg/state/protobuf/server`). */
export const STATE_ROUTES: readonly Route<Session>[] = [
  unary(StateService.get, (session: Session, { namespace, type, id }) => {
    const kind = accessible(session, namespace, type);
    const found = session.boot.resources.get(kind, id);
    if (found !== undefined) return { resource: encode(found) };
    throw new GrpcError(CODE.notFound, `resource ${type}(${namespace}/${id}@undefined) doesn't exist`);
  }),
  streaming(StateService.list, (session: Session, { namespace, type }) => {
    const kind = accessible(session, namespace, type);
    return session.boot.resources.list(kind).map((resource) => ({ resource: encode(resource) }));
  }),
  streaming(StateService.watch, (session: Session, request, call) => {
    const kind = accessible(session, request.namespace, request.type);
    const { id, options } = request;
    if (id !== undefined && options?.bootstrapContents === true) {
      throw new GrpcError(CODE.unimplemented, 'bootstrap contents is not supported for single resource watch');
    }
    return watch({ session, kind, call, id, withContents: options?.bootstrapContents === true });
  }),
  ...['Create', 'Update', 'Destroy', 'Teardown', 'TeardownAndDestroy'].map(
    (name): Route<Session> => ({
      path: `/cosi.resource.State/${name}`,
      answer: () => Promise.reject(new GrpcError(CODE.permissionDenied, 'write access is not allowed')),
    }),
  ),
];

function accessible({ boot, roles }: Session, namespace: string, type: string): Kind {
  if (!NAMESPACES.includes(namespace)) {
    throw new GrpcError(CODE.permissionDenied, `namespace "${namespace}" is not supported`);
  }
  const kind = boot.resources.kind(type);
  if (kind === undefined) throw new GrpcError(CODE.permissionDenied, `resource type "${type}" is not supported`);
  if (kind.isSensitive === true ? !maySeeSecrets(roles) : !maySee(roles)) {
    throw new GrpcError(CODE.permissionDenied, 'not authorized');
  }
  return kind;
}

interface Watching {
  readonly session: Session;
  readonly kind: Kind;
  readonly call: Call;
  readonly id: string | undefined;
  readonly withContents: boolean;
}

/** An empty message first, then the present state, then every change. */
async function* watch({ session, kind, call, id, withContents }: Watching): AsyncGenerator<WatchResponse> {
  const { resources } = session.boot;
  const queue = createQueue<ResourceChange>(call.signal);
  const stop = resources.watch(kind, (change) => {
    if (id === undefined || change.resource.id === id) queue.push(change);
  });
  try {
    yield { event: [] };
    if (id !== undefined) {
      const found = resources.get(kind, id);
      yield {
        event: [found === undefined ? tombstone(EventType.DESTROYED, kind, id) : event(EventType.CREATED, found)],
      };
    } else if (withContents) {
      for (const resource of resources.list(kind)) yield { event: [event(EventType.CREATED, resource)] };
      yield { event: [tombstone(EventType.BOOTSTRAPPED, kind, '')] };
    }
    for await (const change of queue) yield { event: [changed(change)] };
  } finally {
    stop();
  }
}

function changed(change: ResourceChange): Event {
  if (change.type === 'updated') return { ...event(EventType.UPDATED, change.resource), old: encode(change.old) };
  return event(change.type === 'created' ? EventType.CREATED : EventType.DESTROYED, change.resource);
}

function event(eventType: EventType, resource: StoredResource): Event {
  return { resource: encode(resource), eventType, old: undefined, error: undefined, bookmark: undefined };
}

function tombstone(eventType: EventType, kind: Kind, id: string): Event {
  const { namespace, type } = kind;
  const metadata = { namespace, type, id, version: 'undefined', owner: '', phase: 'running' };
  return {
    resource: {
      metadata: { ...metadata, created: undefined, updated: undefined, finalizers: [], labels: {}, annotations: {} },
      spec: { protoSpec: Buffer.alloc(0), yamlSpec: '' },
    },
    eventType,
    old: undefined,
    error: undefined,
    bookmark: undefined,
  };
}

function encode({ kind, id, version, created, updated, proto, yaml, annotations }: StoredResource): Resource {
  const { namespace, type } = kind;
  return {
    metadata: {
      namespace,
      type,
      id,
      version: String(version),
      owner: `lab.${kind.display}Controller`,
      phase: 'running',
      created: new Date(created),
      updated: new Date(updated),
      finalizers: [],
      labels: {},
      annotations: { ...annotations },
    },
    spec: { protoSpec: proto, yamlSpec: yaml },
  };
}
