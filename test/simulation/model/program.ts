import { decisions, nextStage } from './controller.ts';
import { landed, requested } from './landing.ts';
import type { Model } from './rules.ts';
import {
  CORDON,
  configOf,
  DOING,
  IDLE,
  LATE,
  type Machine,
  machineAt,
  NOBODY,
  NOTE,
  PHASE,
  REBOOT,
  STEP,
  type State,
  TOLD,
  withMachine,
} from './state.ts';
import { lessCalls, type Step } from './step.ts';

/** Effects as the audit of the product names them; the others are writes of the status alone. */
const EFFECTS: Readonly<Partial<Record<State['doing'], string>>> = {
  [DOING.apply]: 'apply-config',
  [DOING.cordon]: 'cordon',
  [DOING.drain]: 'drain',
  [DOING.forfeit]: 'forfeit-leadership',
  [DOING.reboot]: 'reboot',
  [DOING.retry]: 'reboot',
  [DOING.back]: 'uncordon',
  [DOING.release]: 'uncordon',
  [DOING.leftover]: 'uncordon',
  [DOING.enter]: 'enter-stage',
  [DOING.record]: 'write-record',
  [DOING.replace]: 'replace-bundle',
  [DOING.complete]: 'complete',
};

/** What our program may do next, and what may go wrong while it does: looks, marks, acts, writes what came of it. */
export function programSteps(state: State, model: Model): Step[] {
  if (state.doing === DOING.nothing) return looks(state, model);
  const dies = outcome(state, 'dies', { ...state, ...IDLE }, true);
  const marked = state.step === STEP.decided ? mark(state, model) : undefined;
  if (marked !== undefined) return [outcome(state, 'marked', marked), dies];
  if (state.step === STEP.decided || state.step === STEP.marked) return [...acts(state, model), dies];
  return [outcome(state, 'written', after(state, model)), dies];
}

function looks(state: State, model: Model): Step[] {
  return decisions(state, model)
    .filter(({ isFault }) => isFault !== true || state.calls > 0)
    .map(({ doing, target, isFault = false }) => {
      const decided = { act: nameOf(doing), what: isFault ? 'decided, because a probe failed' : 'decided' };
      // Evictions change nothing by themselves: pods go when they go, and are asked again.
      if (doing === DOING.drain) return { ...decided, machine: target, isFault, effect: EFFECTS[doing], to: state };
      const to: State = { ...state, doing, target, step: STEP.decided, sameBoot: target !== NOBODY };
      return { ...decided, machine: target, isFault, to: isFault ? lessCalls(to) : to };
    });
}

const NAMES = new Map<number, string>(Object.entries(DOING).map(([name, doing]) => [doing, name]));

/** What the program does, by its name in {@link DOING}. */
function nameOf(doing: number): string {
  return NAMES.get(doing) ?? `${doing}`;
}

/** What is written before the effect, so that it survives a crash; undefined where there is nothing to write. */
function mark(state: State, { rules }: Model): State | undefined {
  const { target, sameBoot } = state;
  const marked: State = { ...state, step: STEP.marked };
  const noted = (note: Machine['note'], change: Partial<Machine> = {}): State =>
    withMachine(marked, target, rules.noteFirst ? { ...change, note } : change);
  const idle: State = { ...state, ...IDLE };
  const told = sameBoot ? TOLD.here : TOLD.before;
  switch (state.doing) {
    case DOING.apply:
      return noted(sameBoot ? NOTE.applyHere : NOTE.applyBefore, { told });
    case DOING.reboot: {
      const gate = rules.markerFirst ? { marker: target, markerHere: sameBoot } : {};
      return { ...noted(sameBoot ? NOTE.rebootHere : NOTE.rebootBefore), ...gate };
    }
    case DOING.retry:
      return noted(sameBoot ? NOTE.rebootHere : NOTE.rebootBefore);
    case DOING.cordon:
      return { ...marked, draining: target };
    case DOING.forfeit:
      return { ...marked, forfeited: target };
    case DOING.choose:
      return { ...idle, draining: target };
    case DOING.forget:
      return withMachine(idle, target, { note: NOTE.none });
    case DOING.remember:
      return withMachine(idle, target, { told });
    default:
      return undefined;
  }
}

/** The effect: a call to a machine, a request to Kubernetes, a change of the store, or only the write that follows. */
function acts(state: State, model: Model): Step[] {
  const { doing, target, stage } = state;
  switch (doing) {
    case DOING.apply:
      return call(state, model, configOf(stage));
    case DOING.reboot:
    case DOING.retry:
      return call(state, model, REBOOT);
    case DOING.cordon:
      return request(state, LATE.cordon);
    case DOING.back:
    case DOING.release:
    case DOING.leftover: {
      const isOurs = machineAt(state, target).cordon !== CORDON.open && model.rules.uncordon;
      return isOurs ? request(state, LATE.uncordon) : [outcome(state, 'not needed', replied(state))];
    }
    case DOING.forfeit:
      return [sent(state, { ...state, ...IDLE })];
    case DOING.record:
      return stored(state, { stored: true });
    case DOING.replace:
      return stored(state, { replaced: true });
    case DOING.complete:
      return stored(state, { stored: false, step: STEP.replied });
    default:
      return [sent(state, replied(state))];
  }
}

function replied(state: State): State {
  return { ...state, step: STEP.replied };
}

function outcome({ doing, target }: State, what: string, to: State, isFault = false): Step {
  return { act: nameOf(doing), what, machine: target, isFault, to };
}

function sent(state: State, to: State, how?: string): Step {
  const what = how === undefined ? 'sent' : `sent, but ${how}`;
  return { ...outcome(state, what, to, how !== undefined), effect: EFFECTS[state.doing] };
}

/**
 * A call to a machine with its outcomes. Lost is also a program that dies right
 * after it, dropped one that dies right before, late one that is overtaken with
 * the call in hand: it may still land, until its deadline.
 */
function call(state: State, { rules }: Model, what: number): Step[] {
  const { target } = state;
  const { phase } = machineAt(state, target);
  const refused: State = { ...state, step: STEP.refused };
  // A machine that is going down takes no configuration.
  const isDeaf = phase === PHASE.down || (phase === PHASE.stopping && what !== REBOOT);
  if (isDeaf || (rules.bootCheckedAtCall && !state.sameBoot)) {
    return [{ ...sent(state, refused, 'it is refused'), isFault: false }];
  }
  const done = landed(state, target, what);
  if (state.calls === 0) return [sent(state, replied(done))];
  return [
    sent(state, replied(done)),
    sent(state, lessCalls(refused), 'it is refused'),
    sent(state, { ...lessCalls(done), ...IDLE }, 'its reply is lost'),
    sent(state, { ...lessCalls(state), ...IDLE }, 'it is dropped'),
    sent(state, { ...withMachine(lessCalls(state), target, { call: what }), ...IDLE }, 'it is late'),
  ];
}

/** A request to Kubernetes; whatever becomes of it, the next look finds out. */
function request(state: State, what: Machine['late']): Step[] {
  const { target } = state;
  const done = requested(state, target, what);
  if (state.calls === 0) return [sent(state, replied(done))];
  return [
    sent(state, replied(done)),
    sent(state, { ...lessCalls(done), ...IDLE }, 'its reply is lost'),
    sent(state, { ...lessCalls(state), ...IDLE }, 'it is dropped'),
    sent(state, { ...withMachine(lessCalls(state), target, { late: what }), ...IDLE }, 'it is late'),
  ];
}

/** A change of the record or the bundle: begun, and then there or not. */
function stored(state: State, change: Partial<State>): Step[] {
  if (state.step === STEP.decided) return [sent(state, { ...state, step: STEP.marked })];
  const idle: State = { ...state, ...IDLE };
  const done = change.step === undefined ? idle : state;
  return [outcome(state, 'stored', { ...done, ...change }), outcome(state, 'not stored', idle, true)];
}

/** What is written after the effect, of which nothing is known if the program dies before. */
function after(state: State, model: Model): State {
  const { target, doing, step } = state;
  const idle: State = { ...state, ...IDLE };
  const gone = { marker: NOBODY, markerHere: false } as const;
  const letGo = { draining: NOBODY, forfeited: NOBODY } as const;
  switch (doing) {
    case DOING.apply:
      return withMachine(idle, target, { note: NOTE.none });
    case DOING.reboot:
    case DOING.retry: {
      const unnoted = withMachine(idle, target, { note: NOTE.none });
      // A refused repetition says nothing of the request before it, which may have been heard.
      const isOver = doing === DOING.reboot || !model.rules.repetitionKeepsMarker;
      if (step === STEP.refused) return isOver ? { ...unnoted, ...gone } : unnoted;
      return model.rules.markerFirst ? unnoted : { ...unnoted, marker: target, markerHere: state.sameBoot };
    }
    case DOING.back:
      return { ...idle, ...gone, ...letGo };
    case DOING.release:
      return { ...idle, ...letGo };
    case DOING.complete:
      return { ...idle, released: true };
    case DOING.enter:
      return entered(idle, nextStage(state.stage, model));
    default:
      return idle;
  }
}

/** The records of an earlier configuration say nothing of this one. */
function entered(state: State, stage: State['stage']): State {
  if (configOf(stage) === configOf(state.stage)) return { ...state, stage };
  return { ...state, stage, machines: state.machines.map((machine) => ({ ...machine, told: TOLD.not })) };
}
