import { type Event, MachineServiceService } from '../../../proto/generated/talos/machine.ts';
import { TimeServiceService } from '../../../proto/generated/talos/time.ts';
import type { LoggedEvent } from './event-log.ts';
import { CODE, GrpcError, type Route, streaming, unary } from './grpc.ts';
import { createQueue } from './queue.ts';
import type { Session } from './session.ts';

/** Events and the clock of the machine. */
export const EVENT_ROUTES: readonly Route<Session>[] = [
  streaming(MachineServiceService.events, async function* ({ boot }: Session, request, call) {
    const { tailEvents, tailId, tailSeconds, withActorId } = request;
    if ([tailEvents !== 0, tailId !== '', tailSeconds !== 0].filter(Boolean).length > 1) {
      throw new GrpcError(CODE.invalidArgument, 'only one of tail_events, tail_id or tail_seconds can be specified');
    }
    const queue = createQueue<LoggedEvent>(call.signal);
    const stop = boot.events.follow((event) => queue.push(event));
    try {
      // The hello that says that the subscription stands.
      yield { metadata: undefined, data: { typeUrl: '', value: Buffer.alloc(0) }, id: '', actorId: '' };
      const isAsked = ({ actorId }: LoggedEvent): boolean => withActorId === '' || actorId === withActorId;
      for (const event of past(boot.events.list(), request, boot.lab.world.clock.now()).filter(isAsked)) {
        yield encode(event);
      }
      for await (const event of queue) if (isAsked(event)) yield encode(event);
    } finally {
      stop();
    }
  }),
  unary(TimeServiceService.time, ({ boot }: Session) => ({ messages: [timeOf(boot.lab.world.clock.now(), '')] })),
  unary(TimeServiceService.timeCheck, ({ boot }: Session, { server }) => ({
    messages: [timeOf(boot.lab.world.clock.now(), server)],
  })),
];

function past(
  events: readonly LoggedEvent[],
  asked: { readonly tailEvents: number; readonly tailId: string; readonly tailSeconds: number },
  now: number,
): readonly LoggedEvent[] {
  if (asked.tailEvents < 0) return [...events];
  if (asked.tailEvents > 0) return events.slice(-asked.tailEvents);
  if (asked.tailId !== '') return events.filter(({ id }) => id > asked.tailId);
  if (asked.tailSeconds > 0) return events.filter(({ at }) => at >= now - asked.tailSeconds * 1_000);
  return [];
}

function encode({ id, actorId, typeUrl, value }: LoggedEvent): Event {
  return { metadata: undefined, data: { typeUrl, value }, id, actorId };
}

function timeOf(now: number, server: string) {
  return { metadata: undefined, server, localtime: new Date(now), remotetime: new Date(now) };
}
