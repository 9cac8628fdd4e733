import { runsEtcd, shakeHands } from './gates.ts';
import { brokenBy, brokenIn } from './invariants.ts';
import { pack, unpack, wordsOf } from './pack.ts';
import { programSteps } from './program.ts';
import type { Model } from './rules.ts';
import { DOING, initialState, type Left, type Machine, type State } from './state.ts';
import type { Step } from './step.ts';
import { createStateTable, type StateTable } from './table.ts';
import { createWays } from './ways.ts';
import { worldSteps } from './world.ts';

/** What an exploration found. */
export interface Explored {
  readonly states: number;
  readonly steps: number;
  /** Longest of the shortest ways to a state. */
  readonly depth: number;
  /** States in which the rotation is over and let go. */
  readonly done: number;
  /** States in which it waits for a person to look at a machine whose disk was put back. */
  readonly blocked: number;
  readonly violation: Violation | undefined;
}

/** A property that can be broken, and a shortest way to it from the initial state. */
export interface Violation {
  readonly property: string;
  readonly path: readonly Taken[];
}

/** A step, and the state in which it was taken. */
export interface Taken {
  readonly from: State;
  readonly step: Step;
}

/** Every step out of a state. */
export function stepsOf(state: State, model: Model): Step[] {
  return [...programSteps(state, model), ...worldSteps(state, model)];
}

/**
 * Goes through every state that can be reached, breadth first, and asks every
 * invariant. Then asks of each whether the end can still be reached from it once
 * faults stop, backwards over the steps that are no faults.
 */
export function explore(model: Model, left: Left): Explored {
  const found = createFound(model, left);
  const ways = createWays();
  const counts = { steps: 0, depth: 0, blocked: 0 };
  const ends: number[] = [];
  const result = (violation: Violation | undefined): Explored => ({
    ...counts,
    states: found.size(),
    done: ends.length - counts.blocked,
    violation,
  });
  let level = found.size();
  for (let at = 0; at < found.size(); at += 1) {
    if (at === level) {
      counts.depth += 1;
      level = found.size();
    }
    const state = found.state(at);
    const taken = takeAll(at, state);
    if (taken.violation !== undefined) return result(taken.violation);
    const isBlocked = taken.isStuck && isForAPerson(state);
    if (isBlocked) counts.blocked += 1;
    if (isBlocked || state.released) ends.push(at);
  }
  const lost = ways.unreached(ends, found.size());
  if (lost === undefined) return result(undefined);
  return result({ property: 'L1 progress: the end cannot be reached any more', path: found.path(lost) });

  function takeAll(number: number, state: State): { readonly violation?: Violation; readonly isStuck: boolean } {
    let isStuck = true;
    for (const step of stepsOf(state, model)) {
      counts.steps += 1;
      const next = found.number(step.to, number);
      const property = (next.isNew ? brokenIn(step.to) : undefined) ?? brokenBy(state, step);
      if (property !== undefined)
        return { violation: { property, path: [...found.path(number), { from: state, step }] }, isStuck };
      if (step.isFault || next.number === number) continue;
      isStuck = false;
      ways.add(number, next.number);
    }
    return { isStuck };
  }
}

/**
 * Nothing happens by itself any more, and what is in the way has a name: the etcd
 * of a machine whose disk was put back, which the others refuse until somebody
 * starts it again.
 */
function isForAPerson({ doing, machines }: State): boolean {
  return doing === DOING.nothing && machines.some((each) => each.restored && isRefused(each, machines));
}

function isRefused(machine: Machine, machines: readonly Machine[]): boolean {
  return machines.some((other) => runsEtcd(machine) && runsEtcd(other) && !shakeHands(machine, other));
}

/** The states found so far, by number. */
interface Found {
  size(): number;
  state(number: number): State;
  /** The number of a state, which is added where it is new. */
  number(state: State, parent: number): { readonly number: number; readonly isNew: boolean };
  /** A shortest way to a state. */
  path(number: number): Taken[];
}

function createFound(model: Model, left: Left): Found {
  const { controlPlanes } = model.shape;
  const width = wordsOf(controlPlanes);
  const table: StateTable = createStateTable(width);
  const key = new Uint32Array(width);
  pack(initialState(controlPlanes, left), key, 0);
  table.add(key, -1);
  const found: Found = {
    size: table.size,
    state: (number) => unpack(table.words(), number * width, controlPlanes),
    number(state, parent) {
      pack(state, key, 0);
      const number = table.find(key);
      return number < 0 ? { number: table.add(key, parent), isNew: true } : { number, isNew: false };
    },
    path(number) {
      const path: Taken[] = [];
      for (let at = number; table.parent(at) >= 0; at = table.parent(at)) {
        const from = found.state(table.parent(at));
        const step = stepsOf(from, model).find(({ to }) => found.number(to, -1).number === at);
        if (step === undefined) throw new Error(`no step leads to state ${at} any more`);
        path.unshift({ from, step });
      }
      return path;
    },
  };
  return found;
}
