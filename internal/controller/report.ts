import {
  type CaStage,
  type OperationCondition,
  type OperationStatus,
  ROTATION_FINALIZER,
  type TalosOperation,
} from '../../api/v1alpha1/index.ts';
import type { Decision, StatusPatch } from '../rotation/decision.ts';
import type { Observation } from '../rotation/observation.ts';
import type { OperationChange } from './ports.ts';

/** How many changes of reason or message the status keeps. */
const HISTORY_LENGTH = 50;

/** The status that a decision leads to, before its effect (`mark`) or after it (`after`). */
export interface StatusInput {
  readonly operation: TalosOperation;
  readonly decision: Decision;
  readonly observation: Observation;
  readonly patch: StatusPatch | undefined;
  /** Set once the effect that leads there is done. */
  readonly stage?: CaStage | undefined;
}

/** Renders a decision as status: the one place in which people's words for it are made. */
export function statusOf(input: StatusInput): OperationStatus {
  const { operation, decision, observation, patch } = input;
  const { status } = operation;
  const now = new Date(observation.now).toISOString();
  const stage = input.stage ?? status.stage;
  const caRotation = patched(stage === status.stage ? status.caRotation : entered(status, now), patch);
  const names = namesOf(status, observation);
  return {
    ...status,
    observedGeneration: operation.metadata.generation,
    phase: phaseOf(decision, stage),
    stage,
    reason: decision.reason,
    message: decision.message,
    conditions: conditionsOf(status, decision, now),
    caRotation: names === undefined ? caRotation : { ...caRotation, ...names },
    history: historyOf(status, { time: now, stage, reason: decision.reason, message: decision.message }),
    ...(stage === 'Done' && status.completedAt === undefined ? { completedAt: now } : {}),
  };
}

/** What a new stage starts with: nobody was told anything yet in it. */
function entered(status: OperationStatus, now: string): OperationStatus['caRotation'] {
  return { ...status.caRotation, stageStartedAt: now, etcdRestarted: [] };
}

/** Frozen with the first look at the record: one that says something else later is found out by comparing with these. */
function namesOf(status: OperationStatus, { store }: Observation): Partial<OperationStatus['caRotation']> | undefined {
  if (store.material === undefined || status.caRotation.certificates.length > 0) return undefined;
  const entries = Object.entries(store.material) as [
    keyof typeof store.material,
    NonNullable<(typeof store.material)['talos']>,
  ][];
  return {
    targets: entries.map(([name]) => name),
    certificates: entries.map(([name, material]) => ({
      name,
      old: material.old.fingerprint,
      new: material.new.fingerprint,
    })),
  };
}

function phaseOf(decision: Decision, stage: CaStage): OperationStatus['phase'] {
  if (stage === 'Done') return 'Completed';
  if (decision.kind === 'blocked' || decision.reason === 'PausedByUser') return 'Paused';
  return 'InProgress';
}

function conditionsOf(status: OperationStatus, decision: Decision, now: string): OperationStatus['conditions'] {
  const { reason, message } = decision;
  const isDone = reason === 'Completed';
  const wanted = [
    {
      type: 'CARotation' as const,
      status: decision.kind === 'blocked' ? ('False' as const) : isDone ? ('True' as const) : ('Unknown' as const),
      reason,
      message,
    },
    ...(decision.kind === 'act' ? (decision.conditions ?? []) : []),
  ];
  const kept = status.conditions.filter((each) => !wanted.some((other) => other.type === each.type));
  const changed = wanted.map((each) => {
    const before = status.conditions.find((other) => other.type === each.type);
    // The time is that of the last change of the value, and is what settles are measured from.
    return { ...each, lastTransitionTime: before?.status === each.status ? before.lastTransitionTime : now };
  });
  return [...kept, ...changed];
}

function historyOf(status: OperationStatus, entry: OperationStatus['history'][number]): OperationStatus['history'] {
  const last = status.history.at(-1);
  const isSame =
    last !== undefined &&
    last.stage === entry.stage &&
    last.reason === entry.reason &&
    saysTheSame(last.message, entry.message);
  return isSame ? status.history : [...status.history, entry].slice(-HISTORY_LENGTH);
}

/** Whether two messages are the same but for a countdown: those change every second and are no news. */
export function saysTheSame(a: string, b: string): boolean {
  return a === b || withoutNumbers(a) === withoutNumbers(b);
}

function withoutNumbers(message: string): string {
  return message.replaceAll(/\d+ s\b/g, 's');
}

function patched(
  current: OperationStatus['caRotation'],
  patch: StatusPatch | undefined,
): OperationStatus['caRotation'] {
  if (patch === undefined) return current;
  const merged = Object.entries({ ...current, ...patch }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(merged) as OperationStatus['caRotation'];
}

/** What else is written together with the status. */
export function changeOf(operation: TalosOperation, decision: Decision, status: OperationStatus): OperationChange {
  const effect = decision.kind === 'act' ? decision.effect.kind : undefined;
  const released = operation.metadata.finalizers.filter((each) => each !== ROTATION_FINALIZER);
  return {
    status,
    ...(effect === 'enter-stage' && status.stage === 'AwaitingCredentials' ? { dropHandoff: true } : {}),
    ...(effect === 'complete' || effect === 'abandon' ? { finalizers: released } : {}),
  };
}

/** Whether the new status is worth a write: a countdown alone is not. */
export function isNews(before: OperationStatus, after: OperationStatus): boolean {
  return !tellsTheSame(before, after);
}

function tellsTheSame(before: OperationStatus, after: OperationStatus): boolean {
  const { message, history: _history, conditions, ...rest } = before;
  const { message: nextMessage, history: _nextHistory, conditions: nextConditions, ...nextRest } = after;
  return (
    saysTheSame(message, nextMessage) &&
    conditions.length === nextConditions.length &&
    conditions.every((each, index) => isSameCondition(each, nextConditions[index])) &&
    isSame(rest, nextRest)
  );
}

function isSameCondition(before: OperationCondition, after: OperationCondition | undefined): boolean {
  // Most conditions are those of before, the same object.
  if (before === after || after === undefined) return before === after;
  const { message, ...rest } = before;
  const { message: nextMessage, ...nextRest } = after;
  return saysTheSame(message, nextMessage) && isSame(rest, nextRest);
}

/** Whether two values are written as the same JSON, whatever the order of their keys: what is undefined is not written. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  return (
    Object.keys(a).every((key) => isSame(a[key], b[key])) &&
    Object.keys(b).every((key) => a[key] !== undefined || b[key] === undefined)
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
