import type { ServiceFact } from '../../simulator/index.ts';

/** States of a service that are told (`internal/app/machined/pkg/system/events`). */
export type ServiceStateName = 'Preparing' | 'Running' | 'Stopping' | 'Finished';

/** Something that happened to a service. */
export interface ServiceEvent {
  readonly state: ServiceStateName;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A service with its history. */
export interface ServiceRecord {
  readonly id: string;
  readonly state: ServiceStateName;
  /** Undefined where it is not checked, or not yet. */
  readonly healthy: boolean | undefined;
  readonly healthMessage: string;
  readonly healthChangedAt: number;
  /** At most 64, oldest first. */
  readonly events: readonly ServiceEvent[];
}

/** The services of one boot of a machine. */
export interface ServiceLog {
  /** Takes the state of now up; what is new since the last time, in order. */
  observe(facts: readonly ServiceFact[], now: number): readonly (ServiceEvent & { readonly id: string })[];
  list(): readonly ServiceRecord[];
  find(id: string): ServiceRecord | undefined;
}

const KEPT = 64;

interface Entry extends ServiceRecord {
  readonly instance: number;
}

/** A log that has seen nothing yet. */
export function createServiceLog(): ServiceLog {
  const entries = new Map<string, Entry>();
  return {
    observe(facts, now) {
      return facts.flatMap((fact) => {
        const before = entries.get(fact.id);
        const added = eventsOf(before, fact).map((event) => ({ ...event, at: now }));
        entries.set(fact.id, entryOf(before, fact, added, now));
        return added.map((event) => ({ ...event, id: fact.id }));
      });
    },
    list: () => [...entries.values()],
    find: (id) => entries.get(id),
  };
}

function entryOf(before: Entry | undefined, fact: ServiceFact, added: readonly ServiceEvent[], now: number): Entry {
  const events = [...(before?.events ?? []), ...added].slice(-KEPT);
  const isSame = before !== undefined && before.healthy === fact.isHealthy;
  return {
    id: fact.id,
    instance: fact.instance,
    state: events.at(-1)?.state ?? 'Finished',
    healthy: fact.isHealthy,
    healthMessage: fact.isHealthy === false ? 'context deadline exceeded' : '',
    healthChangedAt: isSame ? before.healthChangedAt : now,
    events,
  };
}

type Told = Omit<ServiceEvent, 'at'>;

function eventsOf(before: Entry | undefined, fact: ServiceFact): Told[] {
  const wasRunning = before?.state === 'Running';
  const isOther = before?.instance !== fact.instance;
  const told: Told[] = [];
  if (wasRunning && (!fact.isRunning || isOther)) {
    told.push({ state: 'Stopping', message: `Sending SIGTERM to task ${fact.id}` });
    told.push({ state: 'Finished', message: 'Service finished successfully' });
  }
  if (fact.isRunning && (!wasRunning || isOther)) {
    told.push({ state: 'Preparing', message: 'Creating service runner' });
    told.push({ state: 'Running', message: `Started task ${fact.id} (PID ${1_000 + fact.instance})` });
  }
  const isStarted = told.at(-1)?.state === 'Running';
  const healthBefore = isStarted ? undefined : before?.healthy;
  if (
    fact.isRunning &&
    fact.isHealthy !== undefined &&
    fact.isHealthy !== healthBefore &&
    (fact.isHealthy || !isStarted)
  ) {
    told.push({ state: 'Running', message: `Health check ${fact.isHealthy ? 'successful' : 'failed'}` });
  }
  return told;
}
