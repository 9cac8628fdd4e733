import type { CaTarget } from '../../api/v1alpha1/index.ts';
import {
  BRISK,
  createRandom,
  type Happening,
  OUTCOMES,
  type Random,
  type Scenario,
} from '../../internal/simulator/index.ts';

/** Control planes and workers. */
export const TOPOLOGIES = ['1+0', '1+1', '3+0', '3+1', '3+2', '5+0'] as const;

/** Every set of targets that is worth a run of its own: each alone, pairs that meet, all. */
export const TARGET_SETS: readonly (readonly CaTarget[])[] = [
  ['talos'],
  ['kubernetes'],
  ['etcd'],
  ['kubernetes-aggregator'],
  ['talos', 'kubernetes'],
  ['etcd', 'kubernetes-aggregator'],
  ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'],
];

/** The sets that are left: their members meet in the set of all above, too. */
export const OTHER_TARGET_SETS: readonly (readonly CaTarget[])[] = [
  ['talos', 'etcd'],
  ['talos', 'kubernetes-aggregator'],
  ['kubernetes', 'etcd'],
  ['kubernetes', 'kubernetes-aggregator'],
  ['talos', 'kubernetes', 'etcd'],
  ['talos', 'kubernetes', 'kubernetes-aggregator'],
  ['talos', 'etcd', 'kubernetes-aggregator'],
  ['kubernetes', 'etcd', 'kubernetes-aggregator'],
];

/** A scenario of this shape without any fault. */
export function plain(topology: string, targets: readonly CaTarget[], seed = 1): Scenario {
  const [controlPlanes = 1, workers = 0] = topology.split('+').map(Number);
  return { seed, controlPlanes, workers, targets };
}

const HOUR_MS = 3_600_000;

/** Anything, drawn from a seed: a mix of faults that is different for every run (swarm testing), and what people do meanwhile. */
export function swarm(seed: number): Scenario {
  const random = createRandom(seed, 'swarm');
  const base = plain(random.pick(TOPOLOGIES), random.pick(TARGET_SETS), seed);
  const isLegacy = random.chance(0.3);
  const outcomes = OUTCOMES.filter((outcome) => outcome !== 'ok' && random.chance(0.5));
  return {
    ...base,
    ...(isLegacy && !base.targets.includes('kubernetes-aggregator') ? { shape: 'legacy', talosVersion: '1.13.2' } : {}),
    ...(outcomes.length === 0 ? {} : { faultRate: random.pick([0, 0.01, 0.03, 0.08, 0.2]), outcomes }),
    ...(random.chance(0.2) ? { spec: { restartWorkloads: 'Rolling' } } : {}),
    happenings: [...happeningsOf(random, base), ...changesOfControlPlanes(seed, base)],
    ...goingBack(seed, base),
  };
}

/** The same with short ways: what happens comes sooner, as the rotation is over so much sooner. A fifth of the looks. */
export function shortened(scenario: Scenario): Scenario {
  const sooner = (scenario.happenings ?? []).map((each) => ({ ...each, at: Math.round(each.at / SOONER) }));
  return {
    ...scenario,
    happenings: sooner,
    timing: BRISK,
    settings: { aggregatorSettleMs: 20_000, authenticationWatchMs: 20_000 },
  };
}

const SOONER = 3;

/** Now and then a machine goes back to its first disk when all is done, or only reboots; out of a stream of its own. */
function goingBack(seed: number, { controlPlanes, workers }: Scenario): Pick<Scenario, 'afterwards'> {
  const random = createRandom(seed, 'swarm/afterwards');
  if (!random.chance(0.15)) return {};
  const number = random.between(1, controlPlanes + workers);
  const machine = number <= controlPlanes ? `cp${number}` : `w${number - controlPlanes}`;
  return { afterwards: [{ at: 1_000, what: random.pick(['restore', 'restore', 'reboot'] as const), machine }] };
}

/**
 * Control planes that leave, join and are replaced, out of a stream of their own: a
 * seed has the other happenings that it always had. There are three at least and
 * never fewer than two, so that no cluster is destroyed by what people do to it.
 */
function changesOfControlPlanes(seed: number, { controlPlanes }: Scenario): Happening[] {
  const random = createRandom(seed, 'swarm/control-planes');
  if (controlPlanes < 3 || !random.chance(0.4)) return [];
  const machine = `cp${random.between(1, controlPlanes)}`;
  const other = `cp${random.between(1, controlPlanes)}`;
  const at = random.between(1_000, 600_000);
  const later = at + random.between(20_000, 300_000);
  const forMs = random.between(5_000, 120_000);
  const how = random.pick(['reset', 'lost'] as const);
  const leaves: Happening = { at, what: 'leave', machine, how, forMs };
  const joins: Happening = { at: later, what: 'join', name: 'joined-cp', role: 'controlplane' };
  const isReplaced = random.chance(0.5);
  if (isReplaced) {
    const replaces = { what: 'replace', with: random.pick(['born', 'last'] as const), forMs } as const;
    const next: Happening[] =
      other === machine || random.chance(0.6) ? [] : [{ at: later, machine: other, ...replaces }];
    return [{ at, machine, ...replaces }, ...next];
  }
  const isLast = other === machine || controlPlanes === 3;
  return random.pick([
    [leaves],
    [leaves, joins],
    [joins],
    isLast ? [leaves, joins] : [leaves, { at: later, what: 'leave', machine: other, how: 'reset', forMs }],
  ] as const) as Happening[];
}

function happeningsOf(random: Random, base: Scenario): Happening[] {
  const count = random.pick([0, 0, 1, 1, 2, 3]);
  const planes = Array.from({ length: base.controlPlanes }, (_, index) => `cp${index + 1}`);
  const workers = Array.from({ length: base.workers }, (_, index) => `w${index + 1}`);
  const all = [...planes, ...workers];
  return Array.from({ length: count }, (_, index): Happening => {
    const at = random.between(1_000, 600_000);
    const forMs = random.between(5_000, 120_000);
    const machine = random.pick(all);
    const makers: readonly (() => Happening)[] = [
      () => ({ at, what: 'reboot', machine }),
      () => ({ at, what: 'power-loss', machine, forMs }),
      () => ({ at, what: 'cut-off', machine, forMs }),
      () => ({ at, what: 'etcd-stop', machine: random.pick(planes), forMs }),
      () => ({ at, what: 'edit', machine }),
      () => ({ at, what: 'cut-etcd' }),
      () => ({ at, what: 'leader' }),
      () => ({ at, what: 'alarm', forMs }),
      () => ({ at, what: 'pause', forMs }),
      () => ({ at, what: 'clock', byMs: random.pick([-300_000, -60_000, 60_000, HOUR_MS]) }),
      () => ({ at, what: 'delete' }),
      () => ({ at, what: 'learner', forMs }),
      () => ({ at, what: 'state-full', machine, forMs }),
      // One machine of one has no other to say what its etcd should hold.
      ...(planes.length === 1 ? [] : [(): Happening => ({ at, what: 'restore', machine: random.pick(planes) })]),
      () => ({ at, what: 'damage', to: random.pick(['gone', 'cut']), forMs }),
      // The last machine that pods could move to does not leave: their budget would hold the drain for ever, and rightly.
      ...(workers.length === 0 || all.length === 2
        ? []
        : [
            (): Happening => ({ at, what: 'join', name: `joined${index}` }),
            (): Happening => ({ at, what: 'leave', machine: random.pick(workers) }),
          ]),
    ];
    return random.pick(makers)();
  });
}
