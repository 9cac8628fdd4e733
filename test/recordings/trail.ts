import type { AuditEntry } from '../../internal/controller/index.ts';
import type { RecordedStep } from './recording.ts';

/** One effect as the audit trail tells it. */
export interface TrailStep extends Omit<RecordedStep, 'moved' | 'became'> {
  /** When it was first tried, milliseconds since the epoch. */
  readonly begunAt: number;
}

/** Effects that change what a machine runs: what moves on it until the next one follows from them. */
const MOVING: readonly string[] = ['apply-config', 'apply-configs', 'reboot', 'revert-config'];

/** Whether what moves on its machine is counted to this step. */
export function isMoving({ effect, machine }: Pick<TrailStep, 'effect' | 'machine'>): boolean {
  return machine !== undefined && MOVING.includes(effect);
}

/**
 * The effects of one operation in their order, from its audit trail: every real
 * rotation leaves one. Tries of the same effect in a row are one step, one for
 * several machines is a step for each. An effect without an entry after it (the
 * program died with the call in hand) is unknown.
 */
export function stepsOf(entries: readonly AuditEntry[], operation: string): TrailStep[] {
  const steps: Tried[] = [];
  const [first] = entries.filter((entry) => entry.operation === operation);
  for (const entry of entries) {
    if (entry.operation !== operation || first === undefined) continue;
    const last = steps.at(-1);
    const isSame = last !== undefined && keyOf(last) === keyOf(entry);
    if (entry.phase === 'after') {
      if (isSame) steps[steps.length - 1] = { ...last, outcome: entry.outcome ?? 'unknown' };
      continue;
    }
    // The same effect once more after it was done is a step of its own, as the next round of a drain.
    if (isSame && last.outcome !== 'ok') steps[steps.length - 1] = { ...last, tries: (last.tries ?? 1) + 1 };
    else steps.push(begun(entry, Date.parse(first.time)));
  }
  return steps.flatMap(({ machines, ...step }) => machines?.map((machine) => ({ ...step, machine })) ?? [step]);
}

type Tried = TrailStep & Pick<AuditEntry, 'machines'>;

/** Two entries with the same key are about the same effect. */
function keyOf({ stage, effect, machine, machines }: Omit<Tried, 'at' | 'begunAt' | 'outcome'> | AuditEntry): string {
  return JSON.stringify([stage, effect, machine, machines]);
}

function begun(entry: AuditEntry, firstAt: number): Tried {
  const begunAt = Date.parse(entry.time);
  return {
    at: Math.round((begunAt - firstAt) / 100) / 10,
    begunAt,
    stage: entry.stage as RecordedStep['stage'],
    effect: entry.effect,
    ...(entry.machine === undefined ? {} : { machine: entry.machine }),
    ...(entry.machines === undefined ? {} : { machines: entry.machines }),
    outcome: 'unknown',
  };
}
