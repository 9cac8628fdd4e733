import { randomBytes } from 'node:crypto';
import type { MachineStage } from '../../../pkg/talos/index.ts';
import {
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
import type { ServiceRecord } from './service-log.ts';

/** One event as it goes over the wire. */
export interface LoggedEvent {
  /** 20 characters that sort by time. */
  readonly id: string;
  readonly at: number;
  readonly actorId: string;
  /** `talos/runtime/machine.…`, not the prefix that protobuf libraries expect. */
  readonly typeUrl: string;
  readonly value: Buffer;
}

/** The events of one boot; the oldest are forgotten (`runtime/v1alpha1_events.go` keeps a ring of 1000). */
export interface EventLog {
  add(event: EventContent, actorId?: string): void;
  /** Oldest first. */
  list(): readonly LoggedEvent[];
  /** Called with every new one; returns what ends it. */
  follow(listener: (event: LoggedEvent) => void): () => void;
}

/** What an event says. */
export type EventContent =
  | { readonly type: 'sequence'; readonly sequence: string; readonly action: 'START' | 'STOP' }
  | { readonly type: 'phase'; readonly phase: string; readonly action: 'START' | 'STOP' }
  | { readonly type: 'task'; readonly task: string; readonly action: 'START' | 'STOP' }
  | { readonly type: 'service'; readonly record: ServiceRecord; readonly state: string; readonly message: string }
  | {
      readonly type: 'status';
      readonly stage: MachineStage;
      readonly ready: boolean;
      readonly unmet: readonly { readonly name: string; readonly reason: string }[];
    };

const KEPT = 1_000;

/** A log without events; `now` in milliseconds since the epoch. */
export function createEventLog(now: () => number): EventLog {
  const events: LoggedEvent[] = [];
  const listeners = new Set<(event: LoggedEvent) => void>();
  const suffix = randomBytes(5).toString('hex').slice(0, 5);
  let count = 0;
  return {
    add(content, actorId = '') {
      count += 1;
      const at = now();
      const id = `${at.toString(32).padStart(9, '0')}${suffix}${count.toString(32).padStart(6, '0')}`;
      const event = { id, at, actorId, ...encode(content) };
      events.push(event);
      if (events.length > KEPT) events.shift();
      for (const listener of [...listeners]) listener(event);
    },
    list: () => events,
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function encode(content: EventContent): Pick<LoggedEvent, 'typeUrl' | 'value'> {
  switch (content.type) {
    case 'sequence': {
      const action = SequenceEvent_Action[content.action];
      return wrap('SequenceEvent', SequenceEvent.encode({ sequence: content.sequence, action, error: undefined }));
    }
    case 'phase':
      return wrap('PhaseEvent', PhaseEvent.encode({ phase: content.phase, action: PhaseEvent_Action[content.action] }));
    case 'task':
      return wrap('TaskEvent', TaskEvent.encode({ task: content.task, action: TaskEvent_Action[content.action] }));
    case 'service':
      return wrap('ServiceStateEvent', serviceEvent(content));
    case 'status': {
      const name = content.stage.toUpperCase().replaceAll('-', '_');
      const stage = MachineStatusEvent_MachineStage[name as keyof typeof MachineStatusEvent_MachineStage];
      const status = { ready: content.ready, unmetConditions: [...content.unmet] };
      return wrap('MachineStatusEvent', MachineStatusEvent.encode({ stage, status }));
    }
  }
}

function serviceEvent({ record, state, message }: EventContent & { type: 'service' }) {
  const action = ServiceStateEvent_Action[state.toUpperCase() as keyof typeof ServiceStateEvent_Action];
  return ServiceStateEvent.encode({
    service: record.id,
    action,
    message,
    health: {
      unknown: record.healthy === undefined,
      healthy: record.healthy ?? false,
      lastMessage: record.healthMessage,
      lastChange: new Date(record.healthChangedAt),
    },
  });
}

function wrap(name: string, writer: { finish(): Uint8Array }): Pick<LoggedEvent, 'typeUrl' | 'value'> {
  return { typeUrl: `talos/runtime/machine.${name}`, value: Buffer.from(writer.finish()) };
}
