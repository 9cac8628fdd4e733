import type { Checker } from '../run.ts';
import { abort } from './abort.ts';
import { apiAvailable } from './api-available.ts';
import { authenticatedPeer } from './authenticated-peer.ts';
import { declaredRequests } from './declared-requests.ts';
import { deletionSafe } from './deletion-safe.ts';
import { effectBudget } from './effect-budget.ts';
import { everyMachineCounted } from './every-machine-counted.ts';
import { evidenceFresh } from './evidence-fresh.ts';
import { failClosed } from './fail-closed.ts';
import { fenced } from './fenced.ts';
import { foreignBytes } from './foreign-bytes.ts';
import { gateReleased } from './gate-released.ts';
import { handOff } from './hand-off.ts';
import { issuance } from './issuance.ts';
import { keysDurable } from './keys-durable.ts';
import { kubeletsServed } from './kubelets-served.ts';
import { leastSpread } from './least-spread.ts';
import { loud } from './loud.ts';
import { noEarlyDrop } from './no-early-drop.ts';
import { noLeak } from './no-leak.ts';
import { noOrphanAnchor } from './no-orphan-anchor.ts';
import { noStorm } from './no-storm.ts';
import { oneGate } from './one-gate.ts';
import { quiet } from './quiet.ts';
import { quorum } from './quorum.ts';
import { recoverable } from './recoverable.ts';
import { recovery } from './recovery.ts';
import { stageMonotone } from './stage-monotone.ts';
import { storageAway } from './storage-away.ts';
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
  storageAway,
  effectBudget,
  noLeak,
  leastSpread,
  deletionSafe,
  truthful,
  evidenceFresh,
  fenced,
  authenticatedPeer,
  issuance,
  recoverable,
  declaredRequests,
  failClosed,
  recovery,
  noStorm,
  loud,
  abort,
  quiet,
  gateReleased,
];
