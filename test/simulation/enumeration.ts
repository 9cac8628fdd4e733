import type { CaTarget } from '../../api/v1alpha1/index.ts';
import {
  BRISK,
  createRandom,
  type Fault,
  type Mint,
  pairsOfFaults,
  recoveryFaults,
  run,
  type Scenario,
  singleFaults,
} from '../../internal/simulator/index.ts';
import { plain, TARGET_SETS } from './scenarios.ts';

/** A part of everything that can be enumerated. */
export interface Part {
  readonly topology: string;
  /** Share of the plans that is run, drawn by the seed; 1 is all of them. */
  readonly share: number;
  /** `calls`: every outcome of every call, and crashes during the recovery. `reboots`: two faults at two reboots. */
  readonly of: 'calls' | 'reboots';
  readonly targets?: readonly (readonly CaTarget[])[];
}

/** What is gone through before anything is released: some 20,000 plans. */
export const COMPLETE: readonly Part[] = [
  { topology: '1+0', share: 1, of: 'calls' },
  { topology: '3+0', share: 1, of: 'calls' },
  { topology: '3+2', share: 0.5, of: 'calls' },
  { topology: '3+0', share: 1, of: 'reboots', targets: [['etcd']] },
];

/** All of every topology of the catalogue, of which a release goes through a part: hours of processor time. */
const EVERYTHING: readonly Part[] = [
  ...['1+0', '1+1', '3+0', '3+2', '5+0'].map((topology): Part => ({ topology, share: 1, of: 'calls' })),
  ...['3+0', '3+2', '5+0'].map((topology): Part => ({ topology, share: 1, of: 'reboots', targets: [['etcd']] })),
];

/** What is gone through for these topologies, as in `1+1,5+0`; without any, what a release asks for. */
export function partsOf(topologies: string | undefined): readonly Part[] {
  if (topologies === undefined) return COMPLETE;
  return topologies.split(',').flatMap((topology) => {
    const parts = EVERYTHING.filter((part) => part.topology === topology);
    if (parts.length > 0) return parts;
    const known = [...new Set(EVERYTHING.map((part) => part.topology))].join(', ');
    throw new Error(`--topology: found "${topology}"; expected some of ${known}`);
  });
}

/** What every change goes through: the same plans, a share of each part. */
export function shareOf(parts: readonly Part[], share: number): readonly Part[] {
  return parts.map((part) => ({ ...part, share: part.share * share }));
}

/** Settles as short as the checkers can follow: an enumeration asks what comes before what, not how long it takes. */
const SHORT = { timing: BRISK, settings: { aggregatorSettleMs: 20_000, authenticationWatchMs: 20_000 } };

/**
 * For plans in which another program takes over: the one before may still send the rest of a cordon for half a
 * minute (docs/reference/reliability.md, S12). Where no watch follows the last roll, a machine that boots in less
 * is back, and the rotation over, too soon.
 */
const TAKEN_OVER = { ...SHORT, timing: { ...BRISK, boot: [30_000, 40_000] as const } };

function shapeOf(targets: readonly CaTarget[], faults: readonly Fault[]): Partial<Scenario> {
  const isWatched = targets.some((target) => target === 'kubernetes' || target === 'kubernetes-aggregator');
  return !isWatched && faults.some(({ outcome }) => outcome === 'taken-over') ? TAKEN_OVER : SHORT;
}

/** Which of the plans one process takes. */
export interface Shard {
  readonly index: number;
  readonly of: number;
}

/** The plans of these parts in their order: those of one shard; the same for the same seed. */
export async function* enumeration(
  parts: readonly Part[],
  options: { readonly mint: Mint; readonly seed: number; readonly shard: Shard },
): AsyncGenerator<Scenario> {
  const { mint, seed, shard } = options;
  let count = 0;
  for (const part of parts) {
    for (const targets of part.targets ?? TARGET_SETS) {
      const base = { ...plain(part.topology, targets, seed), ...SHORT };
      const { calls } = await run(base, { mint, checkers: [] });
      const random = createRandom(seed, `share/${part.topology}/${targets.join()}/${part.of}`);
      for (const faults of plansOf(part, calls)) {
        if (!random.chance(part.share)) continue;
        if (count % shard.of === shard.index) yield { ...base, ...shapeOf(targets, faults), faults };
        count += 1;
      }
    }
  }
}

function plansOf(part: Part, calls: readonly string[]): Fault[][] {
  if (part.of === 'reboots') return pairsOfFaults(calls, (call) => call.startsWith('Reboot '));
  return [...singleFaults(calls), ...recoveryFaults(calls)];
}
