import { describe, expect, it } from 'vitest';
import { CA_TARGETS, type CaStage, type CaTarget } from '../../api/v1alpha1/index.ts';
import { type Happened, OUTCOMES, World, type WorldOptions } from '../../test/builders/rotation-world.ts';
import { DEFAULT_SETTINGS, type Settings } from './context.ts';

const TOPOLOGIES = [
  [1, 0],
  [1, 1],
  [3, 0],
  [3, 1],
  [3, 2],
  [5, 0],
] as const;

/** Every set of targets that is not empty. */
const SETS: readonly CaTarget[][] = Array.from({ length: 15 }, (_, index) =>
  CA_TARGETS.filter((_target, bit) => ((index + 1) >> bit) & 1),
);

/** Settles that take no time worth looking at. */
const QUICK: Settings = { ...DEFAULT_SETTINGS, aggregatorSettleMs: 6_000, authenticationWatchMs: 6_000 };

function rotate(options: Partial<WorldOptions> = {}): World {
  return new World({ controlPlanes: 3, workers: 1, targets: CA_TARGETS, ...options }).run();
}

/** The machines that were rebooted, in order. */
function reboots(world: World): string[] {
  return world.happened.flatMap(({ effect }) => (effect.kind === 'reboot' ? [effect.machine] : []));
}

/** The machines that were told a stage, in order, those told together joined by a plus. */
function told(world: World, stage: string): string[] {
  return world.happened.flatMap(({ effect }) => {
    if (effect.kind === 'apply-config' && effect.stage === stage) return [effect.machine];
    return effect.kind === 'apply-configs' && effect.stage === stage ? [effect.machines.join('+')] : [];
  });
}

/** What is wrong with the end of a run; nothing is expected. */
function wrong(world: World): string[] {
  const { cluster } = world;
  return [
    ...cluster.broken,
    ...(world.stage === 'Done' && !world.recorded ? [] : [`${world.stage}: ${world.operation.status.message}`]),
    ...cluster.concerned.filter((each) => each.runs !== 'Dropping').map((each) => `${each.name} runs ${each.runs}`),
    ...cluster.machines.filter((each) => each.cordoned).map((each) => `${each.name} is cordoned`),
  ];
}

describe('a rotation that nothing disturbs', () => {
  const runs = TOPOLOGIES.flatMap(([controlPlanes, workers]) =>
    SETS.map(
      (targets) => [`${controlPlanes}+${workers}`, targets.join(','), { controlPlanes, workers, targets }] as const,
    ),
  );

  it.each(runs)(
    '%s %s ends with every machine on the new CAs and nothing broken on the way',
    (_size, _names, options) => {
      const world = rotate(options);

      expect(wrong(world)).toEqual([]);
      const expected = options.targets.includes('etcd') ? options.controlPlanes * 2 : 0;
      expect(reboots(world)).toHaveLength(expected);
    },
  );

  it('reboots three control planes six times, each twice, where the new leaf is seen to be served', () => {
    expect(reboots(rotate({ targets: ['etcd'] }))).toEqual(['cp1', 'cp2', 'cp3', 'cp1', 'cp2', 'cp3']);
  });

  it('reboots them nine times where no probe reaches etcd', () => {
    const world = rotate({ targets: ['etcd'], probes: false });

    expect(wrong(world)).toEqual([]);
    expect(reboots(world)).toEqual(['cp1', 'cp2', 'cp3', 'cp1', 'cp2', 'cp3', 'cp1', 'cp2', 'cp3']);
  });

  it('tells control planes one at a time, then the canary, then the other workers; workers first of the Kubernetes CA that goes', () => {
    const world = rotate({ workers: 4 });
    const order = ['cp1', 'cp2', 'cp3', 'w1', 'w2+w3+w4'];

    expect(told(world, 'Accepting')).toEqual(order);
    expect(told(world, 'Issuing')).toEqual(order);
    expect(told(world, 'Dropping')).toEqual(['w1', 'w2+w3+w4', ...order]);
  });

  it('writes the record before anybody is told, replaces the bundle after everybody is', () => {
    const order = rotate().happened.map(({ effect }) => effect.kind);

    expect(order.indexOf('write-record')).toBeLessThan(order.indexOf('apply-config'));
    expect(order.indexOf('replace-bundle')).toBeGreaterThan(order.lastIndexOf('apply-config'));
    expect(order.at(-1)).toBe('complete');
  });
});

describe('a rotation whose calls are lost, late, refused or done twice, and whose process dies', () => {
  const TURNS = OUTCOMES.slice(1).map((_outcome, turn) => turn);
  const worlds = new Map<string, World>();

  /** Every seventh effect ends badly, another one in every run, so that each effect meets each outcome in some run. */
  function faulty(from: number, turn: number): World {
    const key = `${from} ${turn}`;
    const outcome = (effect: number) =>
      effect % 7 === from ? (OUTCOMES[1 + ((Math.floor(effect / 7) + turn) % 7)] ?? 'ok') : 'ok';
    const world = worlds.get(key) ?? rotate({ outcome, settings: QUICK });
    worlds.set(key, world);
    return world;
  }

  it.each(TURNS)('3+1 ends as if nothing had been, turn %i', (turn) => {
    for (const from of TURNS) {
      const world = faulty(from, turn);

      expect(wrong(world)).toEqual([]);
      // Two reboots each are needed; one that was lost is asked for again.
      const bad = world.happened.filter(({ effect, outcome }) => effect.kind === 'reboot' && outcome !== 'ok').length;
      expect(reboots(world).length).toBeLessThanOrEqual(6 + bad);
    }
  });

  it('each kind of call has met each outcome by then', () => {
    const seen = new Set(
      TURNS.flatMap((turn) => TURNS.flatMap((from) => faulty(from, turn).happened)).map(
        ({ effect, outcome }) => `${effect.kind} ${outcome}`,
      ),
    );

    for (const kind of ['apply-config', 'cordon', 'reboot', 'uncordon', 'enter-stage']) {
      for (const outcome of OUTCOMES) expect(seen).toContain(`${kind} ${outcome}`);
    }
  });

  it('a call that lands late takes no machine back: nothing was sent to it meanwhile', () => {
    const failed = Array.from({ length: 9 }, (_unused, at) => {
      const outcome = (effect: number) => (effect === at ? 'late' : 'ok');
      return wrong(rotate({ controlPlanes: 1, workers: 0, targets: ['talos'], outcome }));
    });

    expect(failed.flat()).toEqual([]);
  });

  it.each(OUTCOMES.slice(1))('1+0: each effect alone, %s', (outcome) => {
    const options = { controlPlanes: 1, workers: 0, settings: QUICK };
    const count = rotate(options).happened.length;
    const failed = Array.from({ length: count }, (_unused, at) => {
      const world = rotate({ ...options, outcome: (effect) => (effect === at ? outcome : 'ok') });
      return wrong(world).map((what) => `effect ${at}: ${what}`);
    });

    expect(failed.flat()).toEqual([]);
    expect(count).toBeGreaterThan(20);
  });
});

/** Runs a rotation and lets `at` happen once, the first time that `when` is true. */
function once(when: (world: World) => boolean, at: (world: World) => void, options: Partial<WorldOptions> = {}): World {
  let happened = false;
  const onLook = (world: World): void => {
    if (happened || !when(world)) return;
    happened = true;
    at(world);
  };
  const world = rotate({ settings: QUICK, ...options, onLook });
  expect(happened).toBe(true);
  return world;
}

/** In this stage, once this many effects of it have happened. */
const during =
  (stage: CaStage, effects = 2) =>
  (world: World) =>
    world.stage === stage && world.happened.filter((each) => each.stage === stage).length >= effects;

const UNDER_WAY = ['Accepting', 'Issuing', 'Dropping', 'Finalizing'] as const;

describe('a rotation in a cluster in which other things happen', () => {
  it.each(UNDER_WAY)('in %s a control plane loses its power: nothing else is touched until it is back', (stage) => {
    const world = once(during(stage), ({ cluster }) => {
      cluster.reboot(cluster.machine('cp2'));
    });

    expect(wrong(world)).toEqual([]);
  });

  it.each(UNDER_WAY)('in %s a worker joins with the configuration of that stage', (stage) => {
    const stands = ({ Accepting: 'Before', Issuing: 'Accepting', Dropping: 'Issuing', Finalizing: 'Issuing' } as const)[
      stage
    ];
    const world = once(during(stage), ({ cluster }) => cluster.join('w7', stands));

    expect(wrong(world)).toEqual([]);
    expect(told(world, stage === 'Finalizing' ? 'Dropping' : stage).join()).toContain('w7');
  });

  it.each(UNDER_WAY)('in %s a worker leaves', (stage) => {
    const world = once(during(stage), ({ cluster }) => cluster.leave('w2'), { workers: 3 });

    expect(wrong(world)).toEqual([]);
  });

  it.each(UNDER_WAY)('in %s a control plane is replaced by one with the configuration of the stage before', (stage) => {
    const stands = ({ Accepting: 'Before', Issuing: 'Accepting', Dropping: 'Issuing', Finalizing: 'Issuing' } as const)[
      stage
    ];
    const world = once(during(stage, 1), ({ cluster }) => {
      cluster.leave('cp3');
      cluster.join('cp3', stands);
    });

    expect(wrong(world)).toEqual([]);
    // Its etcd has never read the trust of Dropping before it is told and rebooted.
    expect(reboots(world).filter((name) => name === 'cp3').length).toBeGreaterThan(0);
  });

  it.each(['Accepting', 'Dropping'] as const)(
    'in %s a control plane comes back from its reboot on its old configuration',
    (stage) => {
      const old = stage === 'Accepting' ? 'Before' : 'Issuing';
      const isRebooting = (world: World) =>
        world.stage === stage &&
        world.operation.status.caRotation.etcdRebooting === 'cp2' &&
        world.cluster.machine('cp2').up;
      const world = once(isRebooting, ({ cluster }) => {
        cluster.machine('cp2').bootsInto = old;
      });

      expect(wrong(world)).toEqual([]);
      expect(told(world, stage).filter((name) => name === 'cp2')).toHaveLength(2);
      expect(reboots(world).filter((name) => name === 'cp2')).toHaveLength(3);
    },
  );

  it('in Dropping a control plane is restored from before the rotation while another one reboots: it is told, and ends well once somebody reboots it', () => {
    const isRebooting = (world: World) =>
      world.stage === 'Dropping' && world.operation.status.caRotation.etcdRebooting === 'cp1';
    const world = once(
      isRebooting,
      ({ cluster }) => {
        const restored = cluster.machine('cp2');
        // What it cannot have any more is not asked of the others.
        cluster.excused.add('cp2');
        restored.bootsInto = 'Before';
        cluster.reboot(restored);
        cluster.after(600_000, () => cluster.reboot(restored));
      },
      { targets: ['etcd'] },
    );

    expect(wrong(world)).toEqual([]);
    expect(told(world, 'Dropping').filter((name) => name === 'cp2')).toHaveLength(2);
  });

  it.each(UNDER_WAY)('in %s somebody edits a configuration: it is shown and left alone until it is undone', (stage) => {
    const world = once(during(stage), ({ cluster }) => {
      cluster.machine('w1').foreign = 'it accepts eeeeeeeeeeee';
      cluster.after(300_000, () => {
        cluster.machine('w1').foreign = undefined;
      });
    });

    expect(wrong(world)).toEqual([]);
    expect([...world.waits]).toContain('ForeignConfiguration');
  });

  it.each(['Accepting', 'AwaitingCredentials', 'Issuing', 'Dropping', 'Finalizing'] as const)(
    'in %s it is paused for ten minutes, in which no machine hears anything',
    (stage) => {
      const sent: number[] = [];
      const world = once(during(stage, 0), (paused) => {
        paused.pause(true);
        sent.push(paused.happened.filter(isHeard).length);
        paused.cluster.after(600_000, () => {
          sent.push(paused.happened.filter(isHeard).length);
          paused.pause(false);
        });
      });

      expect(wrong(world)).toEqual([]);
      expect(sent[1]).toBe(sent[0]);
      expect([...world.waits]).toContain('PausedByUser');
    },
  );

  it('a reboot that is swallowed is asked for again after five minutes, and the rotation ends', () => {
    const isRebooting = (world: World) => world.operation.status.caRotation.etcdDraining === 'cp1';
    const world = once(isRebooting, ({ cluster }) => {
      cluster.machine('cp1').swallowsReboots = true;
      cluster.after(200_000, () => {
        cluster.machine('cp1').swallowsReboots = false;
      });
    });

    expect(wrong(world)).toEqual([]);
    expect(reboots(world).slice(0, 2)).toEqual(['cp1', 'cp1']);
  });

  it('a reboot that is always swallowed stops the rotation after twenty minutes, with four requests', () => {
    const world = new World({ controlPlanes: 3, workers: 0, targets: ['etcd'] });
    world.cluster.machine('cp1').swallowsReboots = true;
    world.run(1_000);

    expect(world.operation.status).toMatchObject({ stage: 'Accepting', reason: 'RebootOverdue' });
    expect(reboots(world)).toEqual(['cp1', 'cp1', 'cp1', 'cp1']);
    expect(world.cluster.broken).toEqual([]);
  });
});

function isHeard({ effect }: Happened): boolean {
  return effect.kind === 'reboot' || effect.kind === 'apply-config' || effect.kind === 'apply-configs';
}

describe('deleting a rotation', () => {
  /** What an abandoned rotation must not leave behind. */
  function left(world: World): string[] {
    const { cluster } = world;
    // The machine that was told last follows its configuration in a moment.
    cluster.pass(10_000);
    return [
      ...cluster.broken,
      ...(world.abandoned && !world.recorded ? [] : [`${world.stage}: ${world.operation.status.message}`]),
      ...cluster.machines.filter((each) => each.runs !== 'Before').map((each) => `${each.name} runs ${each.runs}`),
      ...cluster.machines.filter((each) => each.cordoned).map((each) => `${each.name} is cordoned`),
    ];
  }

  it.each([
    ['Pending', 0],
    ['Accepting', 0],
    ['Accepting', 3],
    ['Accepting', 9],
    ['AwaitingCredentials', 0],
  ] as const)(
    'in %s after %i effects abandons it: no record, nothing cordoned, nothing trusted that was new',
    (stage, effects) => {
      expect(left(once(during(stage, effects), (each) => each.delete()))).toEqual([]);
    },
  );

  it.each([0, 2, 4])(
    'in Issuing after %i effects, of Talos and aggregator CAs alone, goes back by way of Accepting',
    (effects) => {
      const targets = ['talos', 'kubernetes-aggregator'] as const;
      const world = once(during('Issuing', effects), (each) => each.delete(), { targets, workers: 2 });

      expect(left(world)).toEqual([]);
    },
  );

  it('while a control plane reboots abandons it once the machine is back', () => {
    const isDown = (world: World) => world.cluster.machines.some((each) => !each.up);

    expect(left(once(isDown, (each) => each.delete()))).toEqual([]);
  });

  it('of a cluster that takes longer to go back than patience lasts still goes back everywhere', () => {
    const options = { workers: 12, settings: { ...QUICK, abandonPatienceMs: 30_000 } };

    expect(left(once(during('AwaitingCredentials', 0), (each) => each.delete(), options))).toEqual([]);
  });

  it('is not held for ever by a machine that does not come back, and names it', () => {
    const world = once(
      during('Accepting', 4),
      (each) => {
        each.delete();
        each.cluster.machine('w1').up = false;
      },
      { targets: ['talos', 'kubernetes'], workers: 1 },
    );

    expect(world.abandoned).toBe(true);
    expect(world.operation.status.message).toContain('w1');
  });

  it.each(['Issuing', 'Dropping', 'Finalizing'] as const)('in %s is held until it is done', (stage) => {
    const world = once(during(stage, 0), (each) => each.delete());

    expect(world.abandoned).toBe(false);
    expect(wrong(world)).toEqual([]);
    expect(world.operation.status.conditions.some((each) => each.type === 'DeletionHeld')).toBe(true);
  });
});
