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
import { OTHER_TARGET_SETS, plain, TARGET_SETS } from './scenarios.ts';

/** A part of everything that can be enumerated. */
export interface Part {
  readonly topology: string;
  /** Share of the plans that is run, drawn by the seed; 1 is all of them. */
  readonly share: number;
  /** `calls`: every outcome of every call, and crashes during the recovery. `reboots`: two faults at two reboots. */
  readonly of: 'calls' | 'reboots';
  readonly targets?: readonly (readonly CaTarget[])[];
  /** Whether the rest of it may be left out where a computer has no time for it. */
  readonly mayEndEarly?: true;
}

/** What is gone through before anything is released: some 20,000 plans. */
export const COMPLETE: readonly Part[] = [
  { topology: '1+0', share: 1, of: 'calls' },
  { topology: '3+0', share: 1, of: 'calls' },
  { topology: '3+0', share: 1, of: 'reboots', targets: [['etcd']] },
  { topology: '3+2', share: 0.5, of: 'calls', mayEndEarly: true },
];

/** All of every topology of the catalogue, of which a release goes through a part: hours of processor time. */
const EVERYTHING: readonly Part[] = [
  ...['1+0', '1+1', '3+0', '3+2', '5+0'].map((topology): Part => ({ topology, share: 1, of: 'calls' })),
  ...['3+0', '3+2', '5+0'].map((topology): Part => ({ topology, share: 1, of: 'reboots', targets: [['etcd']] })),
];

/** Sets of targets by what they are called on the command line: those of a release, those that it leaves out, or both. */
const SETS: Readonly<Record<string, readonly (readonly CaTarget[])[]>> = {
  usual: TARGET_SETS,
  other: OTHER_TARGET_SETS,
  every: [...TARGET_SETS, ...OTHER_TARGET_SETS],
};

/** What is gone through for these topologies, as in `1+1,5+0`; without any, what a release asks for. */
export function partsOf(topologies: string | undefined, sets = 'usual'): readonly Part[] {
  const targets = SETS[sets];
  if (targets === undefined)
    throw new Error(`--target-sets: found "${sets}"; expected one of ${Object.keys(SETS).join(', ')}`);
  if (topologies === undefined) {
    if (sets !== 'usual') throw new Error(`--target-sets ${sets} needs --topology, as in --topology 1+1,3+0`);
    return COMPLETE;
  }
  return topologies.split(',').flatMap((topology) => {
    const parts = EVERYTHING.filter((part) => part.topology === topology);
    if (parts.length > 0) return parts.map((part) => ({ targets, ...part }));
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

const isTakenOver = (faults: readonly Fault[]): boolean => faults.some(({ outcome }) => outcome === 'taken-over');

/** What plans with another program that takes over run in. */
function takenOverShape(targets: readonly CaTarget[]): Partial<Scenario> {
  const isWatched = targets.some((target) => target === 'kubernetes' || target === 'kubernetes-aggregator');
  return isWatched ? SHORT : TAKEN_OVER;
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
      const random = createRandom(seed, `share/${part.topology}/${targets.join()}/${part.of}`);
      for await (const scenario of scenariosOf(part, { targets, mint, seed })) {
        if (!random.chance(part.share) || scenario === undefined) continue;
        if (count % shard.of === shard.index) yield scenario;
        count += 1;
      }
    }
  }
}

interface Asked {
  readonly targets: readonly CaTarget[];
  readonly mint: Mint;
  readonly seed: number;
}

/**
 * Every plan of a part, each over the calls of the very world that it runs in: machines that boot more slowly are
 * called in another order. Nothing in the place of one that is made over other calls instead.
 */
async function* scenariosOf(part: Part, { targets, mint, seed }: Asked): AsyncGenerator<Scenario | undefined> {
  const short = { ...plain(part.topology, targets, seed), ...SHORT };
  const { calls } = await run(short, { mint, checkers: [] });
  const shape = takenOverShape(targets);
  if (shape === SHORT) {
    for (const faults of plansOf(part, calls)) yield { ...short, faults };
    return;
  }
  for (const faults of plansOf(part, calls)) yield isTakenOver(faults) ? undefined : { ...short, faults };
  const slow = { ...short, ...shape };
  const slowly = await run(slow, { mint, checkers: [] });
  for (const faults of plansOf(part, slowly.calls)) if (isTakenOver(faults)) yield { ...slow, faults };
}

function plansOf(part: Part, calls: readonly string[]): Fault[][] {
  if (part.of === 'reboots') return pairsOfFaults(calls, (call) => call.startsWith('Reboot '));
  return [...singleFaults(calls), ...recoveryFaults(calls)];
}
