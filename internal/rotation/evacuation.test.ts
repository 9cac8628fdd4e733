import { describe, expect, it } from 'vitest';
import type { CaRotationStatus, EvacuationStatus } from '../../api/v1alpha1/index.ts';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { decide } from './decide.ts';

const HOOK = '/opt/storage';
const OURS = { node: { cordoned: true, cordonedByUs: true } };
const NOON = '2026-11-05T12:00:00.000Z';

type Answer = EvacuationStatus['answer'];

/** What the hook answered this many seconds ago; the process of the tests has looked for an hour. */
function answered(outcome: 'Done' | 'NotYet' | 'Refused', seconds = 1): Answer {
  const found = { Done: 'exit code 0', NotYet: 'exit code 75: 3 volumes left', Refused: 'exit code 1: no such node' };
  return { outcome, found: found[outcome], at: ago(seconds) };
}

/** It was asked this since a minute, unless said otherwise. */
function evacuation(call: 'evacuate' | 'readmit', answer?: Answer, machine = 'cp1', seconds = 60): EvacuationStatus {
  return { machine, call, since: ago(seconds), ...(answer === undefined ? {} : { answer }) };
}

/** Every control plane must reboot, and a hook is set. */
function toRoll(status: Partial<CaRotationStatus> = {}, options: ObservationOptions = {}) {
  const applied = ['cp1', 'cp2', 'cp3'].map((name) => wasTold(name, 'Accepting', { bootID: 'boot-1' }));
  return anObservation({
    stage: 'Accepting',
    targets: ['etcd'],
    leader: 'cp3',
    evacuationHook: HOOK,
    watchedMs: 3_600_000,
    ...options,
    status: { applied, ...status },
  });
}

/** `cp1` is being evacuated, and the hook answered so. */
function evacuating(answer: Answer, status: Partial<CaRotationStatus> = {}, options: ObservationOptions = {}) {
  return toRoll({ etcdDraining: 'cp1', evacuation: evacuation('evacuate', answer), ...status }, options);
}

describe('before a control plane is cordoned for its reboot', () => {
  it('the hook is asked, and it is written down before that its storage is to be let back', () => {
    expect(decide(toRoll())).toEqual({
      kind: 'act',
      effect: { kind: 'evacuate', machine: 'cp1' },
      reason: 'EvacuatingStorage',
      message: 'cp1: asking /opt/storage evacuate',
      mark: { etcdDraining: 'cp1', evacuation: { machine: 'cp1', call: 'evacuate', since: NOON } },
    });
  });

  it('nobody is asked where no hook is set', () => {
    expect(decide(toRoll({}, { evacuationHook: '' }))).toMatchObject({
      effect: { kind: 'cordon', machine: 'cp1' },
    });
  });

  it('waits a while where the hook is at work, with what it said', () => {
    expect(decide(evacuating(answered('NotYet')))).toEqual({
      kind: 'wait',
      reason: 'EvacuatingStorage',
      message: 'cp1: /opt/storage evacuate is not done yet: exit code 75: 3 volumes left; expected 0',
      recheckAfterMs: 4_000,
    });
  });

  it('then asks again, since when it was asked first', () => {
    expect(decide(evacuating(answered('NotYet', 5)))).toMatchObject({
      kind: 'act',
      effect: { kind: 'evacuate', machine: 'cp1' },
      reason: 'EvacuatingStorage',
      mark: { evacuation: { machine: 'cp1', call: 'evacuate', since: '2026-11-05T11:59:00.000Z' } },
    });
  });

  it('says after an hour that somebody should look, and asks on at a slower pace', () => {
    const late = (seconds: number, answerAge: number) =>
      evacuating(undefined, { evacuation: evacuation('evacuate', answered('NotYet', answerAge), 'cp1', seconds) });

    expect(decide(late(3_600, 1))).toMatchObject({ kind: 'wait' });
    expect(decide(late(3_601, 29))).toEqual({
      kind: 'blocked',
      reason: 'EvacuatingStorage',
      message:
        'cp1: /opt/storage evacuate is not done yet: exit code 75: 3 volumes left; expected it to be done by now',
      recheckAfterMs: 30_000,
    });
    expect(decide(late(3_601, 30))).toMatchObject({ kind: 'act', effect: { kind: 'evacuate' } });
  });

  it('is blocked where the hook failed, with its last words, and asks again by itself', () => {
    expect(decide(evacuating(answered('Refused', 29)))).toEqual({
      kind: 'blocked',
      reason: 'EvacuationHookRefused',
      message: 'cp1: /opt/storage evacuate failed: exit code 1: no such node; expected 0, or 75 while it is at work',
      recheckAfterMs: 30_000,
    });
    expect(decide(evacuating(answered('Refused', 30)))).toMatchObject({
      kind: 'act',
      effect: { kind: 'evacuate', machine: 'cp1' },
      reason: 'EvacuationHookRefused',
    });
  });

  it('cordons it once the hook is done', () => {
    expect(decide(evacuating(answered('Done', 600)))).toMatchObject({
      effect: { kind: 'cordon', machine: 'cp1' },
      mark: { etcdDraining: 'cp1', drainStartedAt: NOON },
    });
  });

  it.each([OURS, { node: { cordoned: true } }])('is asked as well where it is cordoned already: %j', (cp1) => {
    expect(decide(toRoll({}, { except: { cp1 } }))).toMatchObject({ effect: { kind: 'evacuate', machine: 'cp1' } });
  });

  it('counts the drain of one that somebody else cordoned from its beginning', () => {
    const except = { cp1: { node: { cordoned: true } } } as const;

    expect(decide(evacuating(answered('Done'), {}, { except }))).toMatchObject({
      effect: { kind: 'update-status' },
      mark: { etcdDraining: 'cp1', drainStartedAt: NOON },
    });
  });

  it('is asked nothing while a gate is in the way', () => {
    const except = { cp2: { node: { ready: false } } } as const;

    expect(decide(toRoll({}, { except })).kind).toBe('blocked');
  });

  it('drains and reboots it while it is away', () => {
    const drained = { drainStartedAt: ago(10) };

    expect(decide(evacuating(answered('Done'), drained, { except: { cp1: OURS } }))).toMatchObject({
      effect: { kind: 'reboot', machine: 'cp1' },
    });
  });
});

describe('an answer that another process heard', () => {
  const drained = { drainStartedAt: ago(10) };

  it.each(['Done', 'NotYet', 'Refused'] as const)('is not relied on: %s', (outcome) => {
    const begun = { watchedMs: 1_000, except: { cp1: OURS } };

    // Heard in the very moment in which this process began, or before.
    expect(decide(evacuating(answered(outcome, 1), drained, begun))).toMatchObject({
      effect: { kind: 'evacuate', machine: 'cp1' },
    });
  });

  it('is relied on where this process heard it', () => {
    expect(decide(evacuating(answered('Done', 1), drained, { watchedMs: 1_001, except: { cp1: OURS } }))).toMatchObject(
      {
        effect: { kind: 'reboot' },
      },
    );
  });

  it('is told all the same', () => {
    expect(decide(evacuating(answered('NotYet', 60), {}, { watchedMs: 0 }))).toMatchObject({
      kind: 'act',
      message: 'cp1: /opt/storage evacuate is not done yet: exit code 75: 3 volumes left; expected 0',
    });
  });
});

describe('one machine at a time', () => {
  it('lets the storage of another one back before it asks for the next', () => {
    const evacuated = { evacuation: evacuation('evacuate', answered('Done'), 'cp2') };

    expect(decide(toRoll({ etcdDraining: 'cp1', ...evacuated }))).toMatchObject({
      effect: { kind: 'readmit', machine: 'cp2' },
      mark: { evacuation: { machine: 'cp2', call: 'readmit', since: NOON } },
    });
    const back = { evacuation: evacuation('readmit', answered('Done'), 'cp2') };
    expect(decide(toRoll({ etcdDraining: 'cp1', ...back }))).toMatchObject({
      effect: { kind: 'evacuate', machine: 'cp1' },
      mark: { etcdDraining: 'cp1', evacuation: { machine: 'cp1', call: 'evacuate', since: NOON } },
    });
  });
});

/** `cp1` is back from its reboot, in another boot, and the cluster is whole. */
function back(evacuated: EvacuationStatus | undefined, options: ObservationOptions = {}) {
  const { node } = OURS;
  return toRoll(
    {
      etcdRebooting: 'cp1',
      etcdRebootBootID: 'boot-1',
      etcdRestartedAt: ago(60),
      etcdRebootSince: ago(60),
      etcdDraining: 'cp1',
      ...(evacuated === undefined ? {} : { evacuation: evacuated }),
    },
    { except: { cp1: { boot: 'boot-2', node: { ...node, bootId: 'boot-2' } } }, ...options },
  );
}

describe('when a control plane is back', () => {
  it('its storage is let back before its pods', () => {
    expect(decide(back(evacuation('evacuate', answered('Done', 100))))).toEqual({
      kind: 'act',
      effect: { kind: 'readmit', machine: 'cp1' },
      reason: 'ReadmittingStorage',
      message: 'cp1: asking /opt/storage readmit',
      mark: { evacuation: { machine: 'cp1', call: 'readmit', since: NOON } },
    });
  });

  it('pods wait for it', () => {
    expect(decide(back(evacuation('readmit', answered('NotYet'))))).toEqual({
      kind: 'wait',
      reason: 'ReadmittingStorage',
      message: 'cp1: /opt/storage readmit is not done yet: exit code 75: 3 volumes left; expected 0',
      recheckAfterMs: 4_000,
    });
    expect(decide(back(evacuation('readmit', answered('Refused'))))).toMatchObject({
      kind: 'blocked',
      reason: 'EvacuationHookRefused',
    });
  });

  it('they are let back after it, and nothing is owed any more', () => {
    expect(decide(back(evacuation('readmit', answered('Done'))))).toMatchObject({
      effect: { kind: 'uncordon', machine: 'cp1' },
      after: { etcdRestarted: ['cp1'] },
    });
    // What is not taken out of the status stays in it.
    const decision = decide(back(evacuation('readmit', answered('Done'))));
    expect(decision.kind === 'act' && Object.hasOwn(decision.after ?? {}, 'evacuation')).toBe(true);
  });

  it('nothing is asked before the cluster is whole', () => {
    const node = { ...OURS.node, bootId: 'boot-2', ready: false };
    const except = { cp1: { boot: 'boot-2', node } };

    expect(decide(back(evacuation('evacuate', answered('Done')), { except }))).toMatchObject({
      kind: 'wait',
      reason: 'RebootingEtcd',
    });
  });

  it('nothing is asked for one that was not evacuated', () => {
    expect(decide(back(undefined))).toMatchObject({ effect: { kind: 'uncordon' } });
  });

  it('storage is let back also where it came back with an earlier configuration, or somebody uncordoned it', () => {
    const evacuated = evacuation('evacuate', answered('Done'));
    const behind = { except: { cp1: { boot: 'boot-2', stands: 'Before' as const, node: { bootId: 'boot-2' } } } };
    const uncordoned = { except: { cp1: { boot: 'boot-2', node: { bootId: 'boot-2' } } } };

    for (const options of [behind, uncordoned])
      expect(decide(back(evacuated, options))).toMatchObject({ effect: { kind: 'readmit', machine: 'cp1' } });
  });
});

describe('a machine that was evacuated and need not reboot any more', () => {
  const byItself = { except: { cp1: { boot: 'boot-2', node: { bootId: 'boot-2' } } } };

  it.each([
    ['was being prepared', { etcdDraining: 'cp1' }],
    ['was told again first', {}],
  ])('gets its storage back, though it never was cordoned: it %s', (_what, status) => {
    const asked = toRoll({ ...status, evacuation: evacuation('evacuate', answered('NotYet')) }, byItself);
    const done = toRoll({ ...status, evacuation: evacuation('readmit', answered('Done')) }, byItself);

    expect(decide(asked)).toMatchObject({ effect: { kind: 'readmit', machine: 'cp1' } });
    expect(decide(done)).toMatchObject({ effect: { kind: 'update-status' }, after: { etcdDraining: undefined } });
  });

  it('is forgotten where it left the cluster', () => {
    const evacuated = evacuation('evacuate', answered('Done'), 'cp9');

    expect(decide(toRoll({ evacuation: evacuated }))).toMatchObject({ effect: { kind: 'update-status' } });
  });
});

describe('a rotation that is abandoned', () => {
  function deleted(evacuated: EvacuationStatus, options: ObservationOptions = {}) {
    return toRoll({ evacuation: evacuated }, { deleted: true, stands: 'Before', ...options });
  }

  it('lets storage back before it lets go, however far the evacuation came', () => {
    expect(decide(deleted(evacuation('evacuate', answered('NotYet'))))).toMatchObject({
      effect: { kind: 'readmit', machine: 'cp1' },
    });
    expect(decide(deleted(evacuation('readmit', answered('Refused'))))).toMatchObject({
      kind: 'blocked',
      reason: 'EvacuationHookRefused',
    });
    expect(decide(deleted(evacuation('readmit', answered('Done'))))).toMatchObject({ effect: { kind: 'abandon' } });
  });

  it('lets go where that machine has left the cluster, and waits where nobody knows', () => {
    const evacuated = evacuation('evacuate', answered('Done'), 'cp9');
    const store = { material: undefined };

    expect(decide(deleted(evacuated, { store }))).toMatchObject({ effect: { kind: 'abandon' } });
    expect(decide(deleted(evacuated, { store, machinesIncomplete: 'no API server listed the Nodes' }))).toEqual({
      kind: 'blocked',
      reason: 'MachineListIncomplete',
      message: 'the storage of cp9 is to be let back, and it is in no list of machines: no API server listed the Nodes',
      recheckAfterMs: 30_000,
    });
  });
});
