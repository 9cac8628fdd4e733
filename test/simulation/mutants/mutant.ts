import { BRISK, type Scenario } from '../../../internal/simulator/index.ts';
import { plain } from '../scenarios.ts';

/** A deliberate fault in product code, and the runs or tests that must notice it. */
export interface Mutant {
  readonly name: string;
  /** Rows of the fault catalogue, of the bug reports (P), and properties, that it stands for. */
  readonly row: string;
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
  /** Runs of the search; the first that fails kills it. */
  readonly scenarios?: readonly Scenario[];
  /** Test files beside the code, for what no run in the world can meet: they are run over the changed tree. */
  readonly tests?: readonly string[];
}

/** One change of one file; `find` must be there. */
export function edit(file: string, find: string, replace: string): Mutant['edits'][number] {
  return { file, find, replace };
}

/** A short run: the same orders in a fifth of the looks. */
export function brisk(topology: string, targets: Scenario['targets'], more: Partial<Scenario> = {}): Scenario {
  const settings = { aggregatorSettleMs: 20_000, authenticationWatchMs: 20_000, ...more.settings };
  return { ...plain(topology, targets), timing: BRISK, ...more, settings };
}

/** Every call of a short rotation late, by a time that is long after the next stages are done. */
export const LATE_APPLIES: readonly Scenario[] = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18].map((at) => ({
  ...plain('1+0', ['talos']),
  faults: [{ at, outcome: 'late' as const, delayMs: 28_000 }],
}));
