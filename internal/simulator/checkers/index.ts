import type { Checker } from '../run.ts';
import { apiAvailable } from './api-available.ts';
import { deletionSafe } from './deletion-safe.ts';
import { effectBudget } from './effect-budget.ts';
import { everyMachineCounted } from './every-machine-counted.ts';
import { foreignBytes } from './foreign-bytes.ts';
import { handOff } from './hand-off.ts';
import { keysDurable } from './keys-durable.ts';
import { kubeletsServed } from './kubelets-served.ts';
import { leastSpread } from './least-spread.ts';
import { noEarlyDrop } from './no-early-drop.ts';
import { noLeak } from './no-leak.ts';
import { noOrphanAnchor } from './no-orphan-anchor.ts';
import { oneGate } from './one-gate.ts';
import { quorum } from './quorum.ts';
import { stageMonotone } from './stage-monotone.ts';
import { trustOverlap } from './trust-overlap.ts';
import { truthful } from './truthful.ts';

/** Every property that a run is held to; each run has checkers of its own. */
export const CHECKERS: readonly (() => Checker)[] = [
  trustOverlap,
  kubeletsServed,
  apiAvailable,
  handOff,
  quorum,
  keysDurable,
  noEarlyDrop,
  noOrphanAnchor,
  foreignBytes,
  stageMonotone,
  everyMachineCounted,
  oneGate,
  effectBudget,
  noLeak,
  leastSpread,
  deletionSafe,
  truthful,
];
