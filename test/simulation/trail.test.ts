import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../internal/controller/index.ts';
import { differences } from '../recordings/compare.ts';
import type { Sight } from '../recordings/observer.ts';
import type { RecordedStep, WatchedRecording } from '../recordings/recording.ts';
import { stepsOf } from '../recordings/trail.ts';
import { tell } from '../recordings/windows.ts';

const START = Date.UTC(2026, 0, 1);

function entry(second: number, phase: 'before' | 'after', more: Partial<AuditEntry> = {}): AuditEntry {
  const time = new Date(START + second * 1_000).toISOString();
  return { time, operation: 'rotate', stage: 'Accepting', effect: 'apply-config', phase, message: '', ...more };
}

describe('the steps of an audit trail', () => {
  it('are the effects in their order, each with how it ended', () => {
    const steps = stepsOf(
      [
        entry(0, 'before', { machine: 'cp1' }),
        entry(1, 'after', { machine: 'cp1', outcome: 'ok' }),
        entry(2.5, 'before', { effect: 'enter-stage' }),
        entry(2.5, 'after', { effect: 'enter-stage', outcome: 'ok' }),
      ],
      'rotate',
    );

    expect(steps).toEqual([
      { at: 0, begunAt: START, stage: 'Accepting', effect: 'apply-config', machine: 'cp1', outcome: 'ok' },
      { at: 2.5, begunAt: START + 2_500, stage: 'Accepting', effect: 'enter-stage', outcome: 'ok' },
    ]);
  });

  it('are one for each machine that is told at once', () => {
    const machines = ['w2', 'w3'];
    const steps = stepsOf(
      [
        entry(0, 'before', { effect: 'apply-configs', machines }),
        entry(1, 'after', { effect: 'apply-configs', machines, outcome: 'ok' }),
      ],
      'rotate',
    );

    expect(steps.map(({ effect, machine, outcome }) => [effect, machine, outcome])).toEqual([
      ['apply-configs', 'w2', 'ok'],
      ['apply-configs', 'w3', 'ok'],
    ]);
  });

  it('leave other operations out', () => {
    expect(stepsOf([entry(0, 'before', { operation: 'another' })], 'rotate')).toEqual([]);
  });

  it('are one for tries in a row, and as many as were done for rounds', () => {
    const tried = [entry(0, 'before'), entry(1, 'after', { outcome: 'refused' }), entry(3, 'before')];
    const rounds = [...tried, entry(4, 'after', { outcome: 'ok' }), entry(9, 'before')];

    expect(stepsOf(tried, 'rotate').map(({ tries, outcome }) => [tries, outcome])).toEqual([[2, 'refused']]);
    expect(stepsOf(rounds, 'rotate').map(({ tries, outcome }) => [tries, outcome])).toEqual([
      [2, 'ok'],
      [undefined, 'unknown'],
    ]);
  });
});

describe('what was seen of a machine', () => {
  const step = (second: number, effect: string) => ({
    at: second,
    begunAt: START + second * 1_000,
    stage: 'Accepting' as const,
    effect,
    machine: 'cp1',
    outcome: 'ok' as const,
  });
  const sight = (second: number, moved: string[], facts: Record<string, string>): Sight => ({
    from: START + second * 1_000,
    until: START + second * 1_000 + 100,
    moved,
    facts,
  });

  it('is put to the effect before it; after a boot, only the boot and what it led to', () => {
    const sights = [
      sight(0, [], { apid: 'old' }),
      sight(11, ['OSRoot'], { apid: 'old' }),
      sight(12, ['ApiCertificates'], { apid: 'new' }),
      sight(25, ['boot'], { apid: 'new', etcd: 'new' }),
      sight(26, ['pod:kube-apiserver'], { apid: 'new', etcd: 'new' }),
    ];

    const told = tell([step(10, 'apply-config'), step(15, 'cordon'), step(20, 'reboot')], new Map([['cp1', sights]]));

    expect(told.before).toEqual({ cp1: { apid: 'old' } });
    expect(told.beforehand).toEqual({});
    expect(told.steps.map(({ effect, moved, became }) => [effect, moved, became])).toEqual([
      ['apply-config', ['ApiCertificates', 'OSRoot'], { apid: 'new' }],
      ['cordon', undefined, undefined],
      ['reboot', ['boot'], { etcd: 'new' }],
    ]);
  });

  it('has no gap: a machine that was not seen between two effects cannot be recorded', () => {
    const sights = [sight(0, [], {}), sight(30, ['OSRoot'], {})];

    expect(() => tell([step(10, 'apply-config'), step(20, 'apply-config')], new Map([['cp1', sights]]))).toThrow(
      'cp1 was not seen between apply-config in Accepting and the next effect',
    );
  });
});

describe('two recordings', () => {
  const apply: RecordedStep = {
    at: 0,
    stage: 'Accepting',
    effect: 'apply-config',
    machine: 'cp1',
    outcome: 'ok',
    moved: ['OSRoot'],
    became: { 'apid takes': 'old new' },
  };
  const of = (effect: string, machine: string, more: Partial<RecordedStep> = {}): RecordedStep => ({
    at: 0,
    stage: 'Accepting',
    effect,
    machine,
    outcome: 'ok',
    ...more,
  });
  const recording = (...steps: RecordedStep[]): WatchedRecording => ({
    provenance: { cluster: 'real', date: '2026-01-01' },
    talosVersion: '1.14.1',
    shape: 'typed',
    machines: [{ name: 'cp1', role: 'controlplane' }],
    options: { targets: ['talos'], restartWorkloads: 'Never', previousBundle: 'Remove' },
    before: { cp1: { 'apid takes': 'old' } },
    beforehand: {},
    steps,
    end: {
      stage: 'Done',
      bundle: { talos: 'new' },
      machines: { cp1: { boots: 0, ready: true, cordoned: false, configuration: 'replaced', facts: {} } },
      kubernetes: { rootCa: 'old', clientCas: 'old', requestHeaderCas: 'old' },
    },
  });

  it.each<[string, RecordedStep[]]>([
    ['how often a control plane is drained', [apply, of('cordon', 'cp1'), of('drain', 'cp1'), of('reboot', 'cp1')]],
    ['whether it led etcd', [apply, of('cordon', 'cp1'), of('forfeit-leadership', 'cp1'), of('reboot', 'cp1')]],
    ['when it was', [{ ...apply, at: 7 }, of('cordon', 'cp1'), of('reboot', 'cp1')]],
    [
      'tries that were refused',
      [of('reboot', 'cp1', { outcome: 'refused' }), apply, of('cordon', 'cp1'), of('reboot', 'cp1')],
    ],
    ['a lost lease', [{ ...apply, moved: ['OSRoot', 'pod:kube-scheduler'] }, of('cordon', 'cp1'), of('reboot', 'cp1')]],
  ])('may differ in %s', (_, steps) => {
    expect(differences(recording(...steps), recording(apply, of('cordon', 'cp1'), of('reboot', 'cp1')))).toEqual([]);
  });

  it.each<[string, RecordedStep[], string]>([
    [
      'the order',
      [of('cordon', 'cp1'), apply],
      'first: recorded cordon cp1 in Accepting, replayed apply-config cp1 in Accepting',
    ],
    [
      'an effect that is missing',
      [apply],
      'after apply-config cp1 in Accepting: recorded the end, replayed cordon cp1 in Accepting',
    ],
    [
      'a drain that comes before its cordon',
      [apply, of('drain', 'cp1'), of('cordon', 'cp1')],
      'recorded: drain cp1 in Accepting is not between cordon and reboot of cp1',
    ],
    [
      'what moved',
      [{ ...apply, moved: [] }, of('cordon', 'cp1')],
      'apply-config cp1 in Accepting moved OSRoot in the replay alone',
    ],
    [
      'a scheduler that restarts with its API server',
      [{ ...apply, moved: ['OSRoot', 'pod:kube-apiserver', 'pod:kube-scheduler'] }, of('cordon', 'cp1')],
      'apply-config cp1 in Accepting moved pod:kube-scheduler; not in the replay',
    ],
    [
      'a fact',
      [{ ...apply, became: {} }, of('cordon', 'cp1')],
      'after apply-config cp1 in Accepting: apid takes: recorded as before, replayed old new',
    ],
  ])('may not differ in %s', (_, steps, difference) => {
    expect(differences(recording(...steps), recording(apply, of('cordon', 'cp1')))).toContain(difference);
  });

  describe('of three control planes and a worker', () => {
    const drop = (machine: string, became = {}): RecordedStep =>
      of('apply-config', machine, { stage: 'Dropping', moved: ['OSRoot'], became });
    const wide = (...steps: RecordedStep[]): WatchedRecording => ({
      ...recording(...steps),
      machines: [
        ...['cp1', 'cp2', 'cp3'].map((name) => ({ name, role: 'controlplane' as const })),
        { name: 'w1', role: 'worker' },
      ],
    });
    const planes = ['cp1', 'cp2', 'cp3'].map((name) => drop(name));
    const inOrder = (...names: string[]) => names.map((name) => drop(name));

    it.each<[string, RecordedStep[], RecordedStep[]]>([
      ['who is told last in Dropping', inOrder('cp2', 'cp3', 'cp1', 'w1'), inOrder('cp1', 'cp3', 'cp2', 'w1')],
      [
        'when a worker had its certificate made anew',
        [...planes, drop('w1', { 'apid accepted': 'old new', 'talos accepted': 'new' })],
        [...planes, drop('w1', { 'apid accepted': 'new', 'talos accepted': 'new' })],
      ],
      [
        'how long a kubelet has waited for a certificate',
        [drop('cp1', { 'kubelet shows': 'new' }), of('reboot', 'cp1', { moved: ['boot'], became: {} })],
        [
          drop('cp1', { 'kubelet shows': '-' }),
          of('reboot', 'cp1', { moved: ['boot'], became: { 'kubelet shows': 'new' } }),
        ],
      ],
    ])('may differ in %s', (_, one, other) => {
      expect(differences(wide(...one), wide(...other))).toEqual([]);
    });

    it.each<[string, RecordedStep[], RecordedStep[], string]>([
      [
        'the order of the others in Dropping',
        inOrder('cp3', 'cp1', 'cp2'),
        inOrder('cp1', 'cp2', 'cp3'),
        'first: recorded apply-config cp3 in Dropping, replayed apply-config cp1 in Dropping',
      ],
      [
        'what a worker was told',
        [drop('w1', { 'talos accepted': 'old new' })],
        [drop('w1', { 'talos accepted': 'new' })],
        'after apply-config w1 in Dropping: talos accepted: recorded old new, replayed new',
      ],
      [
        'what apid of a control plane accepts',
        [drop('cp1', { 'apid accepted': 'old new' })],
        [drop('cp1', { 'apid accepted': 'new' })],
        'after apply-config cp1 in Dropping: apid accepted: recorded old new, replayed new',
      ],
      [
        'what a kubelet shows that has a certificate',
        [drop('cp1', { 'kubelet shows': 'old' })],
        [drop('cp1', { 'kubelet shows': 'new' })],
        'after apply-config cp1 in Dropping: kubelet shows: recorded old, replayed new',
      ],
    ])('may not differ in %s', (_, one, other, difference) => {
      expect(differences(wide(...one), wide(...other))).toContain(difference);
    });
  });

  it('may not differ in their ends', () => {
    const one = recording(apply);
    const machine = one.end.machines.cp1;
    if (machine === undefined) throw new Error('the recording has a machine');
    const end = { ...one.end, machines: { cp1: { ...machine, boots: 1, cordoned: true } } };

    expect(differences({ ...one, end }, one)).toEqual([
      'cp1 at the end: boots: recorded 1, replayed 0',
      'cp1 at the end: cordoned: recorded true, replayed false',
    ]);
  });
});
