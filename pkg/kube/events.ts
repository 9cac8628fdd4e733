import { type CallOptions, type KubeClient, pathOf } from './client.ts';
import { toMicroTime } from './times.ts';

/** One event, as `kubectl describe` and `kubectl events` show it. */
export interface KubeEvent {
  /** The object that it is about. */
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    /** Empty for an object of no namespace; its events are kept in `default`. */
    readonly namespace: string;
    readonly uid?: string | undefined;
  };
  readonly type: 'Normal' | 'Warning';
  /** One word in CamelCase, at most 128 characters. */
  readonly reason: string;
  /** What was done or tried, one word in CamelCase. */
  readonly action: string;
  /** For people; cut at 1,024 bytes, which is all that an API server takes. */
  readonly note: string;
  /** When, ms since the epoch. */
  readonly at: number;
  /** Which replica says so, such as its pod's name. */
  readonly instance: string;
}

const NOTE_BYTES = 1_024;

/** Creates the event (events.k8s.io/v1). Events are for people: the caller decides whether a failure matters. */
export async function createEvent(client: KubeClient, event: KubeEvent, options: CallOptions = {}): Promise<void> {
  const { regarding } = event;
  const namespace = regarding.namespace === '' ? 'default' : regarding.namespace;
  await client.request({
    method: 'POST',
    path: pathOf('apis', 'events.k8s.io', 'v1', 'namespaces', namespace, 'events'),
    body: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { generateName: `${regarding.name}-`, namespace },
      eventTime: toMicroTime(event.at),
      reportingController: 'ichor.maesh.dev/ichor',
      reportingInstance: event.instance,
      type: event.type,
      reason: event.reason,
      action: event.action,
      note: cut(event.note, NOTE_BYTES),
      regarding,
    },
    contentType: 'application/json',
    doing: `record the event ${event.reason} on ${regarding.kind} ${regarding.name}`,
    ...options,
  });
}

/** Cuts at a character, not inside one, and shows that it did. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const whole = Buffer.from(text)
    .subarray(0, bytes - Buffer.byteLength('…'))
    .toString('utf8');
  return `${whole.replace(/\uFFFD$/, '')}…`;
}
