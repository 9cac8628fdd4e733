import { describe, expect, it } from 'vitest';
import { rulesWithout, SMALL, shapeOf } from './configurations.ts';
import { explore, stepsOf } from './explore.ts';
import { pack, unpack, wordsOf } from './pack.ts';
import { RULES, type Rules, type Shape } from './rules.ts';
import { initialState, type Left, type State } from './state.ts';
import { storyOf } from './story.ts';

describe('the protocol of the roll', () => {
  it.each(SMALL)('breaks nothing and always gets to an end: $name', ({ shape, left }) => {
    const { violation, states, done } = explore({ shape, rules: RULES }, left);

    expect(violation === undefined ? undefined : storyOf(violation)).toBeUndefined();
    expect(done).toBeGreaterThan(0);
    expect(states).toBeGreaterThan(10_000);
  });

  it('has as many states as it had when it was written: a change of the protocol is seen', () => {
    const [one] = SMALL;
    if (one === undefined) throw new Error('there is a small exploration');

    const { states, steps, done, blocked } = explore({ shape: one.shape, rules: RULES }, one.left);

    expect({ states, steps, done, blocked }).toEqual({ states: 48_424, steps: 218_740, done: 58, blocked: 0 });
  });
});

const NONE: Left = { calls: 0, foreign: 0, restores: 0 };
const ONE_CALL: Left = { calls: 1, foreign: 0, restores: 0 };
const ONE_AWAY: Left = { calls: 0, foreign: 1, restores: 0 };
const ONE_DISK: Left = { calls: 0, foreign: 1, restores: 1 };

interface Case {
  readonly without: readonly (keyof Rules)[];
  readonly left: Left;
  readonly property: string;
  readonly shape?: Partial<Shape>;
}

/** Every rule, left out where nothing else covers for it. */
const CASES: readonly Case[] = [
  { without: ['keysStoredFirst'], left: NONE, property: 'S4 keys: a machine trusts a CA whose key is stored nowhere' },
  {
    without: ['proofBetweenMachines'],
    left: NONE,
    property: 'S3 quorum: 2 machines are away because of us',
    shape: { restartsPods: true },
  },
  { without: ['stageProved'], left: NONE, property: 'S10 complete: a stage is left before every machine is there' },
  {
    without: ['rollAfterAccepting'],
    left: NONE,
    property: 'S9 evidence: a stage is left before every process has read whom to trust',
  },
  {
    without: ['rollAfterDropping'],
    left: NONE,
    property: 'S24 truthful: done, and the old CA is still trusted somewhere',
  },
  {
    without: ['bootIsEvidence'],
    left: ONE_AWAY,
    property: 'S9 evidence: a stage is left before every process has read whom to trust',
  },
  { without: ['cordon'], left: NONE, property: 'S11 one gate: a machine is rebooted and was not cordoned' },
  { without: ['drain'], left: NONE, property: 'S11 one gate: a machine is rebooted while pods run on it' },
  {
    without: ['gateBeforeReboot', 'proofBetweenMachines'],
    left: ONE_AWAY,
    property: 'S3 quorum: a reboot is decided on while 1 others do not serve',
  },
  {
    without: ['gateBeforeRetry'],
    left: { ...ONE_AWAY, calls: 1 },
    property: 'S3 quorum: a reboot is decided on while 1 others do not serve',
  },
  {
    without: ['markerFirst'],
    left: NONE,
    property: 'S11 one gate: a machine reboots for us and the marker does not name it',
  },
  { without: ['noteFirst'], left: ONE_CALL, property: 'S12 quiescence: a call is under way that nobody has a note of' },
  { without: ['bootCheckedAtCall'], left: ONE_AWAY, property: 'S11 one gate: a reboot lands without its marker' },
  {
    without: ['oneAtATime'],
    left: NONE,
    property: 'S11 one gate: a machine reboots for us and the marker does not name it',
  },
  {
    without: ['quiescence'],
    left: ONE_CALL,
    property: 'S12 quiescence: a call is under way that nobody has a note of',
  },
  { without: ['gateAfterReboot'], left: NONE, property: 'S11 one gate: the marker goes before the machine serves' },
  { without: ['rearm'], left: ONE_DISK, property: 'L1 progress: the end cannot be reached any more' },
  {
    without: ['passNotWaitedFor'],
    left: { ...ONE_DISK, calls: 0 },
    property: 'L1 progress: the end cannot be reached any more',
  },
  { without: ['retry'], left: NONE, property: 'L1 progress: the end cannot be reached any more' },
  {
    without: ['repetitionKeepsMarker'],
    left: ONE_CALL,
    property: 'S11 one gate: a machine reboots for us and the marker does not name it',
  },
  { without: ['uncordon'], left: NONE, property: 'S24 truthful: done, and a machine is still cordoned' },
  { without: ['release'], left: ONE_AWAY, property: 'S24 truthful: done, and a machine is still being rebooted' },
];

describe('the protocol without one of its rules', () => {
  it.each(CASES)('$without is found out', ({ without, left, property, shape = {} }) => {
    const { violation } = explore({ shape: shapeOf(shape), rules: rulesWithout(...without) }, left);

    expect(violation?.property).toBe(property);
  });

  it('leaves none of the rules untried', () => {
    const tried = new Set(CASES.flatMap(({ without }) => without));

    expect(Object.keys(RULES).filter((rule) => !tried.has(rule as keyof Rules))).toEqual([]);
  });

  it('tells the way to it as a short story', () => {
    const model = { shape: shapeOf({ controlPlanes: 1 }), rules: rulesWithout('quiescence') };

    const { violation } = explore(model, ONE_CALL);

    expect(violation === undefined ? [] : storyOf(violation).split('\n')).toEqual([
      'S12 quiescence: a call is under way that nobody has a note of',
      '   1   our program: record: decided, sent, stored',
      '   2   our program: enter: decided, sent, written',
      '   3 ! our program: apply cp1: decided, marked, sent, but it is late',
      '   4   our program: forget cp1: decided, marked',
      '     then:',
      '       Accepting, new keys in the record',
      '       cp1: serving, open, configuration Before, etcd trusts old, its API server old, a configuration is under way',
    ]);
  });
});

describe('a state', () => {
  const model = { shape: shapeOf({ controlPlanes: 1, restartsPods: true, probeFails: true }), rules: RULES };
  const left: Left = { calls: 1, foreign: 1, restores: 1 };

  it('is the same after it was packed, and is counted once', () => {
    const words = new Uint32Array(wordsOf(1));
    const known = new Set<string>();
    const queue = [initialState(1, left)];
    for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
      pack(state, words, 0);
      if (known.has(words.join())) continue;
      known.add(words.join());

      expect(unpack(words, 0, 1)).toEqual(state);
      queue.push(...stepsOf(state, model).map(({ to }) => to));
    }
    expect(explore(model, left).states).toBe(known.size);
  });

  it.each([0, 3, 4])('packs the machine in place %s of five by itself', (place) => {
    const state = initialState(5, left);
    const machines = state.machines.map((machine, at) =>
      at === place ? { ...machine, restored: true, note: 4, call: 4 } : machine,
    );
    const words = new Uint32Array(wordsOf(5));

    pack({ ...state, machines } as State, words, 0);

    expect(unpack(words, 0, 5).machines).toEqual(machines);
  });
});
