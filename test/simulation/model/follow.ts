import type { Checker, Moment, Scenario } from '../../../internal/simulator/index.ts';
import { ANY, shapeOf } from './configurations.ts';
import { stepsOf } from './explore.ts';
import { pack, wordsOf } from './pack.ts';
import { type Model, RULES } from './rules.ts';
import { type Seen, type SeenMachine, see } from './seen.ts';
import { initialState, type State, type Status } from './state.ts';
import type { Step } from './step.ts';
import { describe } from './story.ts';

/**
 * Follows a run of production's own program in the world with the model: every
 * effect that the audit names and every change that is seen must be steps that the
 * model allows, in this order. What cannot be seen (a call that is under way, how
 * far the program is) is kept as the set of states that it may be.
 */
export function followedBy(scenario: Scenario): () => Checker {
  return () => createFollower(scenario);
}

/** The model of the rotation that a scenario asks for. */
export function modelOf({ controlPlanes, targets, happenings = [] }: Scenario): Model {
  const isOneOf = (...names: readonly string[]): boolean => targets.some((target) => names.includes(target));
  const shape = shapeOf({
    controlPlanes,
    handOff: isOneOf('talos', 'kubernetes'),
    restartsPods: isOneOf('kubernetes', 'kubernetes-aggregator'),
    signerLast: isOneOf('kubernetes'),
    probeFails: happenings.length > 0,
    disturbedAtOnce: controlPlanes,
  });
  return { shape, rules: RULES };
}

function createFollower(scenario: Scenario): Checker {
  const model = modelOf(scenario);
  const restores = (scenario.happenings ?? []).filter(({ what }) => what === 'restore').length;
  let possible: readonly State[] = [initialState(scenario.controlPlanes, { ...ANY, restores })];
  let audited = 0;
  return {
    property: 'model',
    check(moment) {
      const seen = see(moment);
      if (seen === undefined) return undefined;
      const effects = effectsSince(moment, audited);
      audited = moment.store.audit.length;
      const before = possible;
      possible = follow({ model, seen, effects, mayFail: faultsOf(moment) }, before);
      if (possible.length > 0) return undefined;
      const did = effects.map(({ effect, machine }) => `${effect}${machine < 0 ? '' : ` cp${machine + 1}`}`);
      return [
        `the model does not allow what follows from ${did.join(', ') || 'no effect of ours'}`,
        'from:',
        ...(before[0] === undefined ? [] : describe(before[0])),
        'to:',
        ...describe({ ...initialState(scenario.controlPlanes, ANY), ...seen, machines: filled(seen) }),
      ].join('\n');
    },
  };
}

function filled(seen: Seen): State['machines'] {
  const [healthy] = initialState(1, ANY).machines;
  if (healthy === undefined) throw new Error('a cluster has a machine');
  return seen.machines.map((machine) => ({ ...healthy, ...machine }));
}

interface Effect {
  readonly effect: string;
  /** Index of the control plane, or -1. */
  readonly machine: number;
}

/** Effects that the model knows: those on control planes, and those on the store. */
const KNOWN = new Set([
  'write-record',
  'enter-stage',
  'replace-bundle',
  'complete',
  'apply-config',
  'cordon',
  'drain',
  'forfeit-leadership',
  'reboot',
  'uncordon',
]);

function effectsSince({ world, store }: Moment, audited: number): Effect[] {
  return store.audit
    .slice(audited)
    .filter(({ phase, effect }) => phase === 'before' && KNOWN.has(effect))
    .map(({ effect, machine }) => ({
      effect,
      machine: world.planes().findIndex(({ name }) => name === machine),
      on: machine,
    }))
    .filter(({ machine, on }) => machine >= 0 || on === undefined);
}

/**
 * Which faults there can have been: others disturb the machines that something
 * happens to, the program dies and its calls fail once a fault has fired; where
 * machines are disturbed, calls fail by themselves.
 */
function faultsOf({ world, faults, scenario }: Moment): (step: Step) => boolean {
  const disturbed = new Set((scenario.happenings ?? []).flatMap((each) => ('machine' in each ? [each.machine] : [])));
  const planes = world.planes().map(({ name }) => name);
  const haveFired = faults.fired.length > 0;
  return ({ act, what, machine }) =>
    act === undefined ? disturbed.has(planes[machine] ?? '') : haveFired || (disturbed.size > 0 && what !== 'dies');
}

interface Next {
  readonly model: Model;
  readonly seen: Seen;
  readonly effects: readonly Effect[];
  readonly mayFail: (step: Step) => boolean;
}

/** A look, its mark, its effect and its last write, and what happened before it. */
const LONGEST = 12;

/** How many steps beyond the shortest way are gone, for what cannot be seen. */
const BEYOND = 2;

/** The states in which the model may be when this is seen; none where it allows no way there. */
function follow(next: Next, from: readonly State[]): readonly State[] {
  const known = new Set<string>();
  const found: State[] = [];
  let level: readonly At[] = from.map((state) => ({ state, done: 0 }));
  let last = LONGEST;
  for (let depth = 0; depth <= last && level.length > 0; depth += 1) {
    const fresh = level.filter((at) => isFresh(known, at));
    for (const { state, done } of fresh) {
      if (done < next.effects.length || !isLike(state, next.seen)) continue;
      found.push(state);
      last = Math.min(last, depth + BEYOND);
    }
    level = fresh.flatMap((at) => onwards(next, at));
  }
  return found;
}

interface At {
  readonly state: State;
  /** How many of the effects have been taken. */
  readonly done: number;
}

function isFresh(known: Set<string>, { state, done }: At): boolean {
  const words = new Uint32Array(wordsOf(state.machines.length) + 1);
  pack(state, words, 0);
  words[words.length - 1] = done;
  const key = words.join();
  if (known.has(key)) return false;
  known.add(key);
  return true;
}

function onwards({ model, seen, effects, mayFail }: Next, { state, done }: At): At[] {
  return stepsOf(state, model).flatMap((step) => {
    if (step.isFault && !mayFail(step)) return [];
    if (step.effect !== undefined) {
      const { effect, machine } = effects[done] ?? {};
      const isIt = effect === step.effect && (machine === -1 || machine === step.machine);
      return isIt ? [{ state: step.to, done: done + 1 }] : [];
    }
    const isOfWorld = step.act === undefined;
    const now = state.machines[step.machine];
    const wanted = seen.machines[step.machine];
    // A machine that is as it is seen has not moved, but for what cannot be seen.
    const isThere =
      now !== undefined && wanted !== undefined && isSame(now, wanted) && now.call === 0 && now.late === 0;
    return isOfWorld && isThere ? [] : [{ state: step.to, done }];
  });
}

const STATUS: readonly (keyof Status)[] = [
  'stage',
  'stored',
  'replaced',
  'released',
  'marker',
  'markerHere',
  'draining',
  'forfeited',
];
const MACHINE: readonly (keyof SeenMachine)[] = [
  'config',
  'took',
  'pool',
  'apiPool',
  'phase',
  'told',
  'cordon',
  'note',
];

function isLike(state: State, seen: Seen): boolean {
  if (STATUS.some((key) => state[key] !== seen[key])) return false;
  return seen.machines.every((machine, index) => {
    const found = state.machines[index];
    return found !== undefined && isSame(found, machine);
  });
}

function isSame(found: SeenMachine, seen: SeenMachine): boolean {
  return MACHINE.every((key) => found[key] === seen[key]);
}
