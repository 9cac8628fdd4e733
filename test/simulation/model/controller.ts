import { isKnown, isLoaded, isProved, isWhole, runsEtcd, stagesBehind } from './gates.ts';
import type { Model } from './rules.ts';
import {
  CORDON,
  configOf,
  DOING,
  LATE,
  type Machine,
  machineAt,
  NOBODY,
  NOTE,
  POOL,
  poolOf,
  STAGE,
  type State,
  TOLD,
} from './state.ts';

/** What the program may decide on this picture of the cluster; more than one where it depends on what the model leaves out. */
export interface Decision {
  readonly doing: State['doing'];
  readonly target: number;
  /** It comes of a probe that failed. */
  readonly isFault?: boolean;
}

/**
 * The questions in the order of `decide`: is it over, can a call still land, does
 * a machine reboot for us, then the steps of the stage. Whatever waits for time to
 * pass (five minutes before a reboot is asked for again, a settle) may happen at
 * any moment here.
 */
export function decisions(state: State, model: Model): readonly Decision[] {
  if (state.stage === STAGE.Done) return state.released ? [] : [decide(DOING.complete)];
  const noted = state.machines.findIndex(({ note }) => note !== NOTE.none);
  if (noted >= 0) return isQuiet(state, noted, model) ? [decide(DOING.forget, noted)] : [];
  if (state.marker !== NOBODY && model.rules.oneAtATime) return rebooting(state, model);
  return ofStage(state, model);
}

function decide(doing: State['doing'], target: number = NOBODY): Decision {
  return { doing, target };
}

/** Its deadline is past, so that nothing of it is under way, or it was sent to another boot; and the machine answers. */
function isQuiet(state: State, index: number, { rules }: Model): boolean {
  const machine = machineAt(state, index);
  if (!rules.quiescence) return true;
  const isOver = machine.call === 0 || machine.note === NOTE.applyBefore || machine.note === NOTE.rebootBefore;
  return isKnown(machine) && isOver;
}

function rebooting(state: State, { rules }: Model): readonly Decision[] {
  const { marker } = state;
  const machine = machineAt(state, marker);
  if (!isKnown(machine)) return [];
  const isReady = isWhole(state) && isLoaded(state, { isBehindAsked: !rules.passNotWaitedFor });
  if (state.markerHere) return rules.retry && (isReady || !rules.gateBeforeRetry) ? [decide(DOING.retry, marker)] : [];
  if (stagesBehind(state, machine) > 0) return rules.rearm ? [decide(DOING.back, marker)] : [];
  return isReady || !rules.gateAfterReboot ? [decide(DOING.back, marker)] : [];
}

function ofStage(state: State, model: Model): readonly Decision[] {
  if (state.stage === STAGE.Pending) {
    if (state.stored || !model.rules.keysStoredFirst) return [decide(DOING.enter)];
    return isWhole(state) ? [decide(DOING.record)] : [];
  }
  if (state.stage === STAGE.Finalizing && !state.replaced) return [decide(DOING.replace)];
  const told = pass(state, model);
  if (told !== undefined) return told;
  if (state.stage !== STAGE.Issuing) return roll(state, model, () => true) ?? leave(state, model);
  return afterIssuing(state, model);
}

/** Whoever was told is proved; then the first that is behind is told, or any where the order goes by who signs for kubelets. */
function pass(state: State, { rules, shape }: Model): readonly Decision[] | undefined {
  if (!state.machines.every(isKnown)) return [];
  const behind = (machine: Machine): number => stagesBehind(state, machine);
  const isUnproved = state.machines.some((machine) => behind(machine) <= 0 && !isProved(machine));
  if (isUnproved && rules.proofBetweenMachines) return rules.stageProved ? [] : undefined;
  // One that was left two stages behind cannot be well before it is told: it comes first, and the others have to be.
  const left = state.machines.findIndex((machine) => behind(machine) > 1);
  const all = state.machines.flatMap((machine, at) => (behind(machine) > 0 ? [at] : []));
  if (all.length === 0) return undefined;
  const isAny = shape.signerLast && state.stage === STAGE.Dropping;
  const next = left >= 0 ? [left] : all.slice(0, isAny ? all.length : 1);
  const leftOut = left >= 0 ? (each: Machine) => behind(each) > 1 : undefined;
  return !rules.proofBetweenMachines || isWhole(state, leftOut) ? next.map((each) => decide(DOING.apply, each)) : [];
}

/**
 * A machine that serves a leaf of the new CA need not reboot here. Where no probe
 * comes through, it does; a probe may fail although everything is well.
 */
function afterIssuing(state: State, model: Model): readonly Decision[] {
  const proved = roll(state, model, (index) => !runsEtcd(machineAt(state, index))) ?? leave(state, model);
  if (!model.shape.probeFails) return proved;
  const failed = state.machines.flatMap((_, index) => roll(state, model, (each) => each === index) ?? []);
  return [...proved, ...failed.map((decision) => ({ ...decision, isFault: true }))];
}

/** One machine at a time of those that are in the boot in which they were told. */
function roll(state: State, model: Model, isMeant: (index: number) => boolean): readonly Decision[] | undefined {
  const { rules } = model;
  const config = configOf(state.stage);
  if ((config === 1 && !rules.rollAfterAccepting) || (config === 3 && !rules.rollAfterDropping)) return undefined;
  const among = [...state.machines.keys()].filter((index) => isMeant(index) && isKnown(machineAt(state, index)));
  const unnoted = among.find((index) => machineAt(state, index).told === TOLD.not);
  if (unnoted !== undefined) return [decide(DOING.remember, unnoted)];
  const waiting = among.filter((index) => needsReboot(state, index, model));
  const isHeld = state.draining !== NOBODY && !waiting.includes(state.draining);
  if (isHeld && rules.release) return [decide(DOING.release, state.draining)];
  const next = waiting.includes(state.draining) ? state.draining : waiting[0];
  if (next === undefined) return undefined;
  const isFree = !rules.gateBeforeReboot || (isWhole(state) && isLoaded(state, { isBehindAsked: true }));
  return isFree ? prepare(state, next, model) : [];
}

function needsReboot(state: State, index: number, { rules }: Model): boolean {
  const machine = machineAt(state, index);
  const isNewEtcd = !rules.bootIsEvidence && (machine.pool === POOL.none || machine.pool === poolOf(machine.took));
  return machine.told === TOLD.here && !isNewEtcd;
}

/** Cordon, name it, empty it, ask it to hand over where it leads, reboot. */
function prepare(state: State, index: number, { rules }: Model): readonly Decision[] {
  const { cordon } = machineAt(state, index);
  if (rules.cordon && cordon === CORDON.open) return [decide(DOING.cordon, index)];
  if (state.draining !== index) return [decide(DOING.choose, index)];
  if (rules.cordon && rules.drain && cordon !== CORDON.drained) return [decide(DOING.drain, index)];
  // Who leads etcd is not in the model: it may be this one or not.
  const handsOver = state.forfeited === index ? [] : [decide(DOING.forfeit, index)];
  return [...handsOver, decide(DOING.reboot, index)];
}

/** The stage that follows each, in their order. */
const NEXT = [
  STAGE.Accepting,
  STAGE.Issuing,
  STAGE.Issuing,
  STAGE.Dropping,
  STAGE.Finalizing,
  STAGE.Done,
  STAGE.Done,
] as const;

/** The stage that follows. */
export function nextStage(stage: State['stage'], { shape }: Model): State['stage'] {
  return stage === STAGE.Accepting && shape.handOff ? STAGE.AwaitingCredentials : NEXT[stage];
}

function leave(state: State, { rules }: Model): readonly Decision[] {
  if (rules.stageProved && !isWhole(state)) return [];
  const leftover = state.machines.findIndex(({ cordon }) => cordon !== CORDON.open);
  if (state.stage === STAGE.Finalizing && leftover >= 0 && rules.uncordon) return [decide(DOING.leftover, leftover)];
  // A reboot and the stages after it take longer than a cordon may be late.
  const isOver = state.stage !== STAGE.Finalizing || state.machines.every(({ late }) => late !== LATE.cordon);
  return isOver ? [decide(DOING.enter)] : [];
}
