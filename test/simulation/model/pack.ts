import type { Machine, State } from './state.ts';

/** How many 32-bit words a state with so many control planes takes. */
export function wordsOf(controlPlanes: number): number {
  return 1 + controlPlanes;
}

/** Packs a state into the words at `offset`: one for store, program and faults, one for each machine. */
export function pack(state: State, words: Uint32Array, offset: number): void {
  words[offset] =
    state.stage |
    (bit(state.stored) << 3) |
    (bit(state.replaced) << 4) |
    (state.marker << 5) |
    (bit(state.markerHere) << 8) |
    (state.draining << 9) |
    (state.forfeited << 12) |
    (state.doing << 15) |
    (state.step << 19) |
    (state.target << 21) |
    (bit(state.sameBoot) << 24) |
    (state.calls << 25) |
    (state.foreign << 27) |
    (state.restores << 29) |
    (bit(state.released) << 31);
  for (let index = 0; index < state.machines.length; index += 1) {
    words[offset + 1 + index] = packMachine(state.machines[index] as Machine);
  }
}

/** The state in the words at `offset`. */
export function unpack(words: Uint32Array, offset: number, controlPlanes: number): State {
  const word = words[offset] ?? 0;
  const machines: Machine[] = [];
  for (let index = 1; index <= controlPlanes; index += 1) machines.push(unpackMachine(words[offset + index] ?? 0));
  return {
    stage: (word & 7) as State['stage'],
    stored: isSet(word, 3),
    replaced: isSet(word, 4),
    marker: (word >>> 5) & 7,
    markerHere: isSet(word, 8),
    draining: (word >>> 9) & 7,
    forfeited: (word >>> 12) & 7,
    doing: ((word >>> 15) & 15) as State['doing'],
    step: ((word >>> 19) & 3) as State['step'],
    target: (word >>> 21) & 7,
    sameBoot: isSet(word, 24),
    calls: (word >>> 25) & 3,
    foreign: (word >>> 27) & 3,
    restores: (word >>> 29) & 3,
    released: isSet(word, 31),
    machines,
  };
}

function packMachine(machine: Machine): number {
  return (
    machine.config |
    (machine.took << 2) |
    (machine.pool << 4) |
    (machine.apiPool << 6) |
    (machine.phase << 8) |
    (bit(machine.byUs) << 11) |
    (machine.told << 12) |
    (machine.cordon << 14) |
    (machine.note << 16) |
    (machine.call << 19) |
    (machine.late << 22) |
    (bit(machine.restored) << 24)
  );
}

function unpackMachine(word: number): Machine {
  return {
    config: word & 3,
    took: (word >>> 2) & 3,
    pool: ((word >>> 4) & 3) as Machine['pool'],
    apiPool: ((word >>> 6) & 3) as Machine['apiPool'],
    phase: ((word >>> 8) & 7) as Machine['phase'],
    byUs: isSet(word, 11),
    told: ((word >>> 12) & 3) as Machine['told'],
    cordon: ((word >>> 14) & 3) as Machine['cordon'],
    note: ((word >>> 16) & 7) as Machine['note'],
    call: (word >>> 19) & 7,
    late: ((word >>> 22) & 3) as Machine['late'],
    restored: isSet(word, 24),
  };
}

function bit(value: boolean): number {
  return value ? 1 : 0;
}

function isSet(word: number, at: number): boolean {
  return ((word >>> at) & 1) === 1;
}
