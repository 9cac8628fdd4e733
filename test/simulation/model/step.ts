import { ENDLESS, type State } from './state.ts';

/** One step of the protocol. */
export interface Step {
  /** What our program is about, by its name in `DOING`; absent where somebody or something else moves. */
  readonly act?: string;
  /** In words: of the program, how far it is with that; of a machine, what happens to it. */
  readonly what: string;
  /** Whom it concerns, or {@link NOBODY}. */
  readonly machine: number;
  /** Whether it is one that stops once faults stop. */
  readonly isFault: boolean;
  /** The effect that it is in the audit of the product; the others leave no entry there. */
  readonly effect?: string | undefined;
  readonly to: State;
}

/** One fault of a call less, where they are counted. */
export function lessCalls(state: State): State {
  return state.calls === ENDLESS ? state : { ...state, calls: state.calls - 1 };
}

/** One disturbance by others less, where they are counted. */
export function lessForeign(state: State): State {
  return state.foreign === ENDLESS ? state : { ...state, foreign: state.foreign - 1 };
}
