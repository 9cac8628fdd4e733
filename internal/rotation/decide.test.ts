import { describe, expect, it } from 'vitest';
import type { CaStage, CaTarget } from '../../api/v1alpha1/index.ts';
import { aCondition, ago, anObservation, type ObservationOptions } from '../../test/builders/rotation.ts';
import { material } from '../../test/builders/rotation-material.ts';
import { decide, needsOf, targetsOf } from './decide.ts';

const ALL = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const;
const UNDER_WAY = ['Accepting', 'AwaitingCredentials', 'Issuing', 'Dropping', 'Finalizing'] as const;

describe('the order of the stages', () => {
  const order: [readonly CaTarget[], string][] = [
    [['talos'], 'Pending > Accepting > AwaitingCredentials > Issuing > Dropping > Finalizing > Done'],
    [['kubernetes'], 'Pending > Accepting > AwaitingCredentials > Issuing > Dropping > Finalizing > Done'],
    [['etcd'], 'Pending > Accepting > Issuing > Dropping > Finalizing > Done'],
    [['kubernetes-aggregator'], 'Pending > Accepting > Issuing > Dropping > Finalizing > Done'],
    [['etcd', 'kubernetes-aggregator'], 'Pending > Accepting > Issuing > Dropping > Finalizing > Done'],
    [['talos', 'etcd'], 'Pending > Accepting > AwaitingCredentials > Issuing > Dropping > Finalizing > Done'],
    [ALL, 'Pending > Accepting > AwaitingCredentials > Issuing > Dropping > Finalizing > Done'],
  ];

  it.each(order)('of %j', (targets, expected) => {
    const seen: CaStage[] = ['Pending'];
    for (let stage = seen.at(-1); stage !== undefined && stage !== 'Done' && seen.length < 10; stage = seen.at(-1)) {
      const store = stage === 'Pending' ? { material: material(targets) } : {};
      const decision = decide(anObservation({ stage, targets, store }));
      if (decision.kind !== 'act' || decision.effect.kind !== 'enter-stage') throw new Error(decision.message);
      seen.push(decision.effect.stage);
    }

    expect(seen.join(' > ')).toBe(expected);
  });

  it.each(UNDER_WAY)('%s that is proved says so', (stage) => {
    const decision = decide(anObservation({ stage, targets: ['talos'] }));

    const next = {
      Accepting: 'AwaitingCredentials',
      AwaitingCredentials: 'Issuing',
      Issuing: 'Dropping',
      Dropping: 'Finalizing',
      Finalizing: 'Done',
    } as const;
    expect(decision).toEqual({
      kind: 'act',
      effect: { kind: 'enter-stage', stage: next[stage] },
      ...(stage === 'Finalizing'
        ? { reason: 'Completed', message: 'talos: nothing is left on the old certificate authorities' }
        : { reason: 'StageProved', message: `${stage} is proved on every machine; entering ${next[stage]}` }),
    });
  });
});

describe('a stage in a situation', () => {
  type Expected = readonly [kind: string, reason: string];
  const situations: readonly [string, ObservationOptions, Readonly<Partial<Record<CaStage, Expected>>>, Expected][] = [
    ['a worker does not answer', { except: { w1: { unknown: 'unreachable' } } }, {}, ['blocked', 'MachineUnknown']],
    [
      'a machine shows an unknown certificate',
      { except: { cp1: { unknown: 'untrusted' } } },
      {},
      ['blocked', 'MachineUntrusted'],
    ],
    [
      'a machine waits in maintenance',
      { except: { cp3: { unknown: 'maintenance' } } },
      {},
      ['blocked', 'MachineInMaintenance'],
    ],
    [
      'the list of machines may be incomplete',
      { machinesIncomplete: 'no list' },
      {},
      ['blocked', 'MachineListIncomplete'],
    ],
    ['etcd raised an alarm', { except: { cp2: { etcd: { alarms: ['NOSPACE'] } } } }, {}, ['blocked', 'EtcdAlarm']],
    ['a member of etcd is missing', { except: { cp2: { etcd: { members: [] } } } }, {}, ['blocked', 'EtcdNotWhole']],
    ['a Node is not Ready', { except: { w1: { node: { ready: false } } } }, {}, ['blocked', 'NodeNotReady']],
    [
      'a kube-apiserver is not ready',
      { except: { cp2: { apiServer: 'failing: etcd' } } },
      { Pending: ['blocked', 'ApiServerNotReady'] },
      ['blocked', 'ProvingMachine'],
    ],
    [
      'somebody edited a configuration',
      { except: { w1: { standing: { talos: { stage: 'Foreign', why: 'edited' } } } } },
      { Pending: ['blocked', 'BundleMismatch'] },
      ['blocked', 'ForeignConfiguration'],
    ],
    [
      'a machine runs what the stage before left',
      { except: { cp2: { pki: { talosAccepted: [] } } } },
      { Pending: ['act', 'RecordWritten'] },
      ['blocked', 'ProvingMachine'],
    ],
    [
      'a control plane pod is not ready',
      { kubernetes: { unreadyControlPlanePods: { known: true, value: ['kube-scheduler-cp1'] } } },
      { Pending: ['act', 'RecordWritten'] },
      ['blocked', 'ControlPlanePodNotReady'],
    ],
    ['the operation is paused', { paused: true }, {}, ['wait', 'PausedByUser']],
    [
      'nobody has acknowledged the hand-off',
      { annotations: { 'ichor.maesh.dev/credentials-handoff': 'another token' } },
      {
        Pending: ['act', 'RecordWritten'],
        AwaitingCredentials: ['wait', 'AwaitingCredentials'],
        Finalizing: ['act', 'Completed'],
      },
      ['act', 'StageProved'],
    ],
    [
      'the record is gone',
      { store: { material: undefined } },
      { Pending: ['act', 'RecordWritten'] },
      ['blocked', 'RecordLost'],
    ],
    [
      'there is another operation',
      { store: { otherOperations: ['rotate-0'] } },
      { Pending: ['blocked', 'ForeignOperation'], Finalizing: ['act', 'Completed'] },
      ['act', 'StageProved'],
    ],
    [
      'there are two control planes',
      { controlPlanes: 2 },
      { Pending: ['blocked', 'ClusterTransitioning'], Finalizing: ['act', 'Completed'] },
      ['act', 'StageProved'],
    ],
    [
      'a machine joined with the old configuration',
      { except: { w1: { stands: 'Before' } } },
      { Pending: ['act', 'RecordWritten'] },
      ['act', 'ApplyingConfiguration'],
    ],
    [
      'somebody cordoned a Node',
      { except: { w1: { node: { cordoned: true } } } },
      { Pending: ['act', 'RecordWritten'], Finalizing: ['act', 'Completed'] },
      ['act', 'StageProved'],
    ],
    [
      'the operation is deleted',
      { deleted: true },
      {
        Pending: ['act', 'Abandoning'],
        Issuing: ['act', 'PastPointOfNoReturn'],
        Dropping: ['act', 'PastPointOfNoReturn'],
        Finalizing: ['act', 'PastPointOfNoReturn'],
      },
      ['act', 'Reverting'],
    ],
    [
      'a call may still land',
      { status: { inFlight: [{ machine: 'cp1', call: 'apply', bootID: 'boot-1', deadline: ago(0) }] } },
      {},
      ['wait', 'NotQuiescent'],
    ],
  ];

  const rows = situations.flatMap(([what, options, special, otherwise]) =>
    (['Pending', ...UNDER_WAY] as const).map((stage) => [stage, what, options, special[stage] ?? otherwise] as const),
  );

  it.each(rows)('%s, where %s', (stage, _what, options, [kind, reason]) => {
    const decision = decide(anObservation({ stage, ...options }));

    expect([decision.kind, decision.reason]).toEqual([kind, reason]);
  });

  it.each(situations)('Done, where %s: nothing is done any more', (_what, options) => {
    const observation = anObservation({ stage: 'Done', ...options, store: { material: undefined } });
    const metadata = { ...observation.operation.metadata, finalizers: [] };

    expect(decide({ ...observation, operation: { ...observation.operation, metadata } })).toEqual({
      kind: 'done',
      reason: 'Completed',
      message: 'not started',
    });
  });
});

describe('the end', () => {
  it('is finished after a crash between the last status and the removal of the record', () => {
    expect(decide(anObservation({ stage: 'Done', targets: ['talos'] }))).toEqual({
      kind: 'act',
      effect: { kind: 'complete' },
      reason: 'Completed',
      message: 'not started',
    });
  });

  it('is finished after a crash between the removal of the record and the release of the finalizer', () => {
    expect(decide(anObservation({ stage: 'Done', store: { material: undefined } }))).toMatchObject({
      effect: { kind: 'complete' },
    });
  });

  it('removes a record that is still there though somebody took the finalizer away', () => {
    const observation = anObservation({ stage: 'Done', targets: ['talos'] });
    const metadata = { ...observation.operation.metadata, finalizers: [] };

    expect(decide({ ...observation, operation: { ...observation.operation, metadata } })).toMatchObject({
      effect: { kind: 'complete' },
    });
  });
});

describe('the end, where somebody put an older secrets.yaml back', () => {
  it('keeps the record, which alone holds what the machines run with', () => {
    const targets = ['talos', 'etcd'] as const;

    expect(decide(anObservation({ stage: 'Done', targets, store: { bundleReplaced: false } }))).toEqual({
      kind: 'blocked',
      reason: 'BundleMismatch',
      message:
        'the rotation is done, and secrets.yaml does not hold its new CAs (talos, etcd); expected them there before the record, which holds them, is removed',
      recheckAfterMs: 30_000,
    });
  });

  it('lets the operation go where the record is gone already', () => {
    const store = { material: undefined, bundleReplaced: false };

    expect(decide(anObservation({ stage: 'Done', store }))).toMatchObject({ effect: { kind: 'complete' } });
  });
});

describe('deleting an operation', () => {
  it.each(['Pending', 'Accepting', 'AwaitingCredentials'] as const)('abandons it in %s', (stage) => {
    expect(decide(anObservation({ stage, targets: ALL, deleted: true, stands: 'Before' }))).toEqual({
      kind: 'act',
      effect: { kind: 'abandon', uncordon: [] },
      reason: 'Abandoning',
      message: `abandoned in ${stage}: the old certificate authorities still issue everything`,
    });
  });

  it('abandons it in Issuing while only Talos and aggregator CAs are replaced', () => {
    expect(
      decide(
        anObservation({
          stage: 'Issuing',
          targets: ['talos', 'kubernetes-aggregator'],
          deleted: true,
          stands: 'Before',
        }),
      ),
    ).toMatchObject({
      effect: { kind: 'abandon' },
      message: 'abandoned in Issuing: the old certificate authorities are still accepted everywhere',
    });
  });

  it.each([
    ['kubernetes', 'certificates of the new kubernetes CA are in use that cannot be taken back'],
    ['etcd', 'certificates of the new etcd CA are in use that cannot be taken back'],
  ] as const)('is held in Issuing with %s, which is said once', (target, why) => {
    const message = `in Issuing it is too late to go back: ${why}`;

    expect(decide(anObservation({ stage: 'Issuing', targets: ['talos', target], deleted: true }))).toEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'PastPointOfNoReturn',
      message,
      conditions: [{ type: 'DeletionHeld', status: 'True', reason: 'PastPointOfNoReturn', message }],
    });
  });

  it.each(['Dropping', 'Finalizing'] as const)('is held in %s, and the rotation goes on', (stage) => {
    const conditions = [aCondition('DeletionHeld', 'True', 60), aCondition('AuthenticationReset', 'True', 1000)];

    expect(decide(anObservation({ stage, targets: ['kubernetes'], deleted: true, conditions }))).toMatchObject({
      effect: { kind: 'enter-stage' },
    });
  });

  it('uncordons the control plane that is rebooting, by its name alone', () => {
    const status = {
      etcdRebooting: 'cp2',
      etcdRebootBootID: 'boot-1',
      etcdRestartedAt: ago(30),
      etcdRebootSince: ago(30),
    };
    const except = { cp2: { unknown: 'unreachable', node: 'unknown' } } as const;
    const observation = anObservation({ targets: ['etcd'], deleted: true, status, except, stands: 'Before' });

    expect(decide(observation)).toMatchObject({ kind: 'wait', reason: 'MachineUnknown' });
    expect(decide({ ...observation, now: observation.now + 300_000 })).toMatchObject({
      effect: { kind: 'abandon', uncordon: ['cp2'] },
    });
  });

  it('uncordons whatever this rotation cordoned, and nothing else', () => {
    const except = {
      cp1: { node: { cordoned: true, cordonedByUs: true } },
      w1: { node: { cordoned: true } },
    };

    expect(
      decide(
        anObservation({ targets: ['etcd'], deleted: true, except, status: { etcdDraining: 'cp3' }, stands: 'Before' }),
      ),
    ).toMatchObject({
      effect: { kind: 'abandon', uncordon: ['cp1', 'cp3'] },
    });
  });

  it('abandons a rotation that is paused, blocked or without its record', () => {
    const options = {
      deleted: true,
      paused: true,
      store: { material: undefined },
      machinesIncomplete: 'no list',
      stands: 'Before',
    } as const;

    expect(decide(anObservation(options))).toMatchObject({ effect: { kind: 'abandon' } });
  });
});

describe('a pause', () => {
  it('says that nothing is sent, and looks again soon', () => {
    expect(decide(anObservation({ paused: true }))).toEqual({
      kind: 'wait',
      reason: 'PausedByUser',
      message: 'paused; nothing is sent to any machine',
      recheckAfterMs: 5000,
    });
  });
});

describe('the targets', () => {
  const operation = (targets: CaTarget[]) => anObservation({ stage: 'Pending', targets }).operation;
  const store = anObservation({ stage: 'Pending' }).store;

  it('are talos and kubernetes where the spec names none', () => {
    expect(targetsOf({ operation: operation([]), store })).toEqual(['talos', 'kubernetes']);
  });

  it('are the same two where the spec says nothing of the rotation', () => {
    const { caRotation: _none, ...spec } = operation([]).spec;

    expect(targetsOf({ operation: { ...operation([]), spec }, store })).toEqual(['talos', 'kubernetes']);
  });

  it('are the ones of the spec, in the order of the API, before the record is written', () => {
    expect(targetsOf({ operation: operation(['etcd', 'talos', 'etcd']), store })).toEqual(['talos', 'etcd']);
  });

  it('are the ones of the record from then on, whatever the spec says', () => {
    const recorded = { ...store, material: material(['kubernetes-aggregator']) };

    expect(targetsOf({ operation: operation(['talos']), store: recorded })).toEqual(['kubernetes-aggregator']);
  });
});

describe('what the next observation must hold', () => {
  function needs(stage: CaStage, targets: readonly CaTarget[], options: ObservationOptions = {}) {
    const read = needsOf(anObservation({ stage, targets, ...options }));
    return Object.entries(read).flatMap(([name, value]) => (value === true ? [name] : []));
  }

  it.each([
    ['Pending', ALL, ['unlisted', 'controlPlanePods']],
    ['Accepting', ALL, ['authentication', 'unlisted', 'controlPlanePods']],
    ['AwaitingCredentials', ALL, ['authentication', 'unlisted', 'controlPlanePods']],
    ['Issuing', ALL, ['etcdServed', 'rootCa', 'stalePods', 'talosAccess', 'unlisted', 'controlPlanePods']],
    ['Dropping', ALL, ['controllerManager', 'unlisted', 'controlPlanePods']],
    ['Dropping', ['etcd'], ['controlPlanePods']],
    ['Finalizing', ALL, ['authentication', 'unlisted', 'controlPlanePods', 'refusals']],
    ['Done', ALL, []],
    ['Accepting', ['talos'], ['unlisted', 'controlPlanePods']],
    ['Issuing', ['talos'], ['talosAccess', 'unlisted', 'controlPlanePods']],
    ['Finalizing', ['etcd'], ['controlPlanePods', 'refusals']],
    ['Finalizing', ['kubernetes'], ['authentication', 'unlisted', 'controlPlanePods', 'refusals']],
    ['Finalizing', ['kubernetes-aggregator'], ['authentication', 'controlPlanePods', 'refusals']],
  ] as const)('%s of %j', (stage, targets, expected) => {
    expect(needs(stage, targets)).toEqual(expected);
  });

  it('no proofs of refusal before the bundle is replaced', () => {
    expect(needs('Finalizing', ['talos'], { store: { bundleReplaced: false } })).toEqual([
      'unlisted',
      'controlPlanePods',
    ]);
  });

  it('nothing at the end, when the bundle has long been replaced', () => {
    expect(needs('Done', ['talos'], { store: { bundleReplaced: true } })).toEqual([]);
  });

  it('the pods of the machine that is drained', () => {
    expect(needsOf(anObservation({ status: { etcdDraining: 'cp2' } })).draining).toBe('cp2');
  });
});
