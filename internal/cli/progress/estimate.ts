import type { CaTarget } from '../../../api/v1alpha1/index.ts';
import { DEFAULT_SETTINGS } from '../../rotation/context.ts';
import { type Cell, COLUMNS, type Picture } from './picture.ts';

/** What takes time in a rotation, as far as it is counted. */
type Step = 'plane' | 'worker' | 'roll';

/**
 * What a step takes before one was measured in this run, in ms: a control plane
 * until its new kube-apiserver is ready, a worker until it is proved, a control
 * plane from its drain until the cluster is whole again (measured on real Talos).
 */
const TYPICAL_MS: Readonly<Record<Step, number>> = { plane: 23_000, worker: 5_000, roll: 60_000 };

/** The proofs at the end. */
const PROOFS_MS = 15_000;

/** Tells how long a rotation will still take, from how long its steps took so far. */
export interface Estimator {
  /** Takes note of a picture and says what is left, in ms; people's own time is not in it. */
  look(picture: Picture, now: number): number;
}

/** What is known before anything was measured in this run, in ms. */
export interface KnownDurations {
  /** How long each of the two settles is watched; the design's two minutes where it is absent. */
  readonly settleMs?: number | undefined;
  /** How long a control plane of this cluster took for its reboot before. */
  readonly rebootMs?: number | undefined;
}

/** An estimator that has measured nothing yet. */
export function createEstimator({
  settleMs = DEFAULT_SETTINGS.aggregatorSettleMs,
  rebootMs = TYPICAL_MS.roll,
}: KnownDurations = {}): Estimator {
  const typical = { ...TYPICAL_MS, roll: rebootMs };
  const measured: Record<Step, number[]> = { plane: [], worker: [], roll: [] };
  let before: { readonly counts: Record<Step, number>; readonly at: number } | undefined;

  function costOf(step: Step): number {
    const times = measured[step];
    return times.length === 0 ? typical[step] : times.reduce((sum, time) => sum + time, 0) / times.length;
  }

  function measure(counts: Record<Step, number>, now: number): void {
    if (before === undefined) {
      before = { counts, at: now };
      return;
    }
    const { counts: last, at } = before;
    const finished = (['plane', 'worker', 'roll'] as const).filter((step) => counts[step] < last[step]);
    const [only] = finished;
    if (only === undefined) return;
    // Only a step that ended alone was measured; a stage that ends takes several at once with it.
    const count = last[only] - counts[only];
    if (finished.length === 1 && count === 1 && !isWaitingForPeople) measured[only].push(now - at);
    before = { counts, at: now };
  }

  let isWaitingForPeople = false;
  return {
    look(picture, now) {
      const counts = remaining(picture);
      measure(counts, now);
      isWaitingForPeople =
        picture.isBlocked || picture.reason === 'AwaitingCredentials' || picture.reason === 'PausedByUser';
      const steps = (['plane', 'worker', 'roll'] as const).map((step) => counts[step] * costOf(step));
      return steps.reduce((sum, each) => sum + each, 0) + settles(picture, settleMs);
    },
  };
}

/** How many steps of each kind are still to be done. */
export function remaining({ rows, targets, stages }: Picture): Record<Step, number> {
  const counts: Record<Step, number> = { plane: 0, worker: 0, roll: 0 };
  if (stages.every(({ state }) => state === 'done')) return counts;
  const onWorkers = targets.some((target) => target === 'talos' || target === 'kubernetes');
  for (const row of rows) {
    const open = COLUMNS.filter((column) => row.cells[column] !== 'done');
    const untold = open.filter((column) => !TOLD.has(row.cells[column])).length;
    if (row.role === 'worker') {
      counts.worker += onWorkers ? untold : 0;
      continue;
    }
    counts.plane += untold;
    // The one after Issuing is skipped where the new certificate is served without it, which is the rule.
    counts.roll += targets.includes('etcd') ? open.filter((column) => column !== 'Issuing').length : 0;
  }
  return counts;
}

/** Cells of a machine that has its configuration of the stage. */
const TOLD: ReadonlySet<Cell> = new Set(['told', 'draining', 'rebooting']);

function settles({ targets, stages }: Picture, settleMs: number): number {
  const isOver = (stage: string) => stages.find((each) => each.stage === stage)?.state === 'done';
  const has = (target: CaTarget) => targets.includes(target);
  const accepting = has('kubernetes-aggregator') && !isOver('Accepting') ? settleMs : 0;
  const finalizing = isOver('Finalizing')
    ? 0
    : PROOFS_MS + (has('kubernetes-aggregator') || has('kubernetes') ? settleMs : 0);
  return accepting + finalizing;
}
