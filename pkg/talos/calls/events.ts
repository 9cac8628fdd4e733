import {
  type Event,
  EventsRequest,
  MachineServiceService,
  MachineStatusEvent,
  MachineStatusEvent_MachineStage,
  PhaseEvent,
  PhaseEvent_Action,
  SequenceEvent,
  SequenceEvent_Action,
  ServiceStateEvent,
  ServiceStateEvent_Action,
  TaskEvent,
  TaskEvent_Action,
} from '../../../proto/generated/talos/machine.ts';
import type { MachineEvent, TalosMachine } from '../machine.ts';
import { type CallContext, refuseError } from './context.ts';

/** Talos's own prefix; not the one that protobuf libraries expect. */
const TYPE_PREFIX = 'talos/runtime/machine.';

/** The event stream of the machine. */
export function createEventCalls({ invoker, deadlines }: CallContext): Pick<TalosMachine, 'events'> {
  return {
    async *events(options = {}) {
      const kind = { call: 'Events', deadlineMs: deadlines.watchMs };
      const request = EventsRequest.fromPartial({ tailEvents: options.tail ?? 0 });
      for await (const event of invoker.stream(MachineServiceService.events, request, kind, options)) {
        refuseError(invoker, kind, event);
        // The first message is an empty hello: it says that the subscription stands.
        if (event.data !== undefined && event.data.typeUrl !== '') yield readEvent(event);
      }
    },
  };
}

function readEvent(event: Event): MachineEvent {
  const typeUrl = event.data?.typeUrl ?? '';
  const read = READERS[typeUrl.slice(TYPE_PREFIX.length)];
  const payload = typeUrl.startsWith(TYPE_PREFIX) ? read?.(event.data?.value ?? Buffer.alloc(0)) : undefined;
  return { id: event.id, actorId: event.actorId, ...(payload ?? { type: 'other', typeUrl }) };
}

type Payload = MachineEvent extends infer E ? (E extends MachineEvent ? Omit<E, 'id' | 'actorId'> : never) : never;

const READERS: Readonly<Record<string, (bytes: Uint8Array) => Payload>> = {
  SequenceEvent(bytes) {
    const { sequence, action, error } = SequenceEvent.decode(bytes);
    const name = nameOf(SequenceEvent_Action, action);
    return { type: 'sequence', sequence, action: name, ...(error !== undefined && { error: error.message }) };
  },
  PhaseEvent(bytes) {
    const { phase, action } = PhaseEvent.decode(bytes);
    return { type: 'phase', phase, action: nameOf(PhaseEvent_Action, action) };
  },
  TaskEvent(bytes) {
    const { task, action } = TaskEvent.decode(bytes);
    return { type: 'task', task, action: nameOf(TaskEvent_Action, action) };
  },
  ServiceStateEvent(bytes) {
    const { service, action, message } = ServiceStateEvent.decode(bytes);
    return { type: 'service', service, action: nameOf(ServiceStateEvent_Action, action), message };
  },
  MachineStatusEvent(bytes) {
    const { stage, status } = MachineStatusEvent.decode(bytes);
    return {
      type: 'machine-status',
      stage: nameOf(MachineStatusEvent_MachineStage, stage).toLowerCase().replaceAll('_', '-'),
      ready: status?.ready ?? false,
      unmet: (status?.unmetConditions ?? []).map((condition) => condition.name),
    };
  },
};

function nameOf<Names extends Readonly<Record<string, number>>>(names: Names, value: number): keyof Names & string {
  return Object.entries(names).find(([, number]) => number === value)?.[0] ?? `${value}`;
}
