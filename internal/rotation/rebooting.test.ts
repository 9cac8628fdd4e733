import { describe, expect, it } from 'vitest';
import type { CaRotationStatus } from '../../api/v1alpha1/index.ts';
import type { MachineOptions } from '../../test/builders/machine.ts';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { decide } from './decide.ts';

const OURS = { cordoned: true, cordonedByUs: true };
const GONE = {
  etcdRebooting: undefined,
  etcdRebootBootID: undefined,
  etcdRebootSince: undefined,
  etcdDraining: undefined,
  drainStartedAt: undefined,
  drainTriedAt: undefined,
  etcdForfeited: undefined,
};
/** What is gone once storage is let back as well. */
const BACK = { ...GONE, evacuation: undefined };

/** `cp2` was asked to reboot out of `boot-1` this many seconds ago; it is still in it unless said otherwise. */
function asked(seconds: number, cp2: MachineOptions = {}, options: ObservationOptions = {}) {
  const status: Partial<CaRotationStatus> = {
    applied: ['cp1', 'cp2', 'cp3'].map((name) =>
      wasTold(name, 'Accepting', { bootID: name === 'cp1' ? 'boot-0' : 'boot-1' }),
    ),
    etcdRestarted: ['cp1'],
    etcdRebooting: 'cp2',
    etcdRebootBootID: 'boot-1',
    etcdRestartedAt: ago(seconds),
    etcdRebootSince: ago(seconds),
    etcdDraining: 'cp2',
    drainStartedAt: ago(seconds + 60),
    ...options.status,
  };
  const except = { cp2: { node: OURS, ...cp2 }, ...options.except };
  return anObservation({ targets: ['etcd'], ...options, except, status });
}

/** In Dropping, cp3 was replaced by an empty machine with its first configuration: its etcd is not let in. */
function leftBehind(except: ObservationOptions['except'] = {}): ObservationOptions {
  const cp3: MachineOptions = {
    stands: 'Before',
    runs: 'Before',
    apiServer: 'connection refused',
    talos: { etcdService: { running: false, healthy: false }, apiServers: [] },
  };
  const applied = ['cp1', 'cp2', 'cp3'].map((name) =>
    wasTold(name, 'Dropping', { bootID: name === 'cp1' ? 'boot-0' : 'boot-1' }),
  );
  return { stage: 'Dropping', status: { applied }, except: { cp3, ...except } };
}

const ANOTHER = { boot: 'boot-2', node: { ...OURS, bootId: 'boot-2' } };

describe('while a control plane reboots', () => {
  it('waits for a machine that does not answer', () => {
    expect(decide(asked(30, { unknown: 'unreachable' }))).toEqual({
      kind: 'wait',
      reason: 'RebootingEtcd',
      message: 'cp2 is rebooting: cp2 (10.0.0.2): connection refused',
      recheckAfterMs: 1500,
      watch: ['cp2'],
    });
  });

  it('waits where the API that lists machines went down with it', () => {
    const gone = asked(30, {}, { machinesIncomplete: 'no API server listed the Nodes' });

    expect(decide({ ...gone, machines: [] })).toEqual({
      kind: 'wait',
      reason: 'RebootingEtcd',
      message: 'cp2 is rebooting: it is in no list of machines',
      recheckAfterMs: 1500,
    });
  });

  it('stops after twenty minutes', () => {
    expect(decide(asked(1200, { unknown: 'unreachable' })).kind).toBe('wait');
    expect(decide(asked(1201, { unknown: 'unreachable' }))).toEqual({
      kind: 'blocked',
      reason: 'RebootOverdue',
      message: 'cp2 is rebooting: cp2 (10.0.0.2): connection refused; expected it back within 20 minutes',
      recheckAfterMs: 30_000,
    });
  });

  it('counts the twenty minutes from the last request where a record of before has no first one', () => {
    const status = { etcdRebootSince: undefined as unknown as string };

    expect(decide(asked(1199, { unknown: 'unreachable' }, { status })).kind).toBe('wait');
    expect(decide(asked(1201, { unknown: 'unreachable' }, { status })).kind).toBe('blocked');
  });

  it.each([
    [
      'shows an unknown certificate',
      'untrusted',
      'MachineUntrusted',
      'cp2 (10.0.0.2): the certificate it shows is signed by no known CA',
    ],
    [
      'has lost its configuration',
      'maintenance',
      'MachineInMaintenance',
      'cp2 (10.0.0.2): it waits for its first configuration',
    ],
  ] as const)('does not take a machine that %s for one that reboots', (_what, unknown, reason, message) => {
    expect(decide(asked(200, { unknown }))).toEqual({ kind: 'blocked', reason, message, recheckAfterMs: 30_000 });
  });

  it('does nothing else meanwhile, whatever there is to do', () => {
    const except = { w1: { stands: 'Before', unknown: 'unreachable' } } as const;

    expect(decide(asked(30, { unknown: 'unreachable' }, { targets: ['talos', 'etcd'], except }))).toMatchObject({
      reason: 'RebootingEtcd',
    });
  });

  it('does not wait for a machine that somebody removed', () => {
    const observation = asked(30);
    const machines = observation.machines.filter((machine) => machine.name !== 'cp2');

    // Strictly: a field of the marker that is not taken away is one that stays.
    expect(decide({ ...observation, machines })).toStrictEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'RebootingEtcd',
      message: 'cp2 was rebooting and is no longer part of the cluster',
      mark: BACK,
    });
  });
});

describe('a boot that does not change', () => {
  it('is waited for', () => {
    expect(decide(asked(299))).toEqual({
      kind: 'wait',
      reason: 'RebootingEtcd',
      message: 'cp2 still reports boot boot-1',
      recheckAfterMs: 1500,
    });
  });

  it('is asked for again after five minutes', () => {
    expect(decide(asked(300))).toEqual({
      kind: 'act',
      effect: { kind: 'reboot', machine: 'cp2' },
      reason: 'RebootingEtcd',
      message: 'cp2 still reports boot boot-1; asking again',
      mark: { etcdRestartedAt: '2026-11-05T12:00:00.000Z' },
    });
  });

  it.each<[string, ObservationOptions, string, string]>([
    [
      'another member is down',
      { except: { cp3: { unknown: 'unreachable' } } },
      'MachineUnknown',
      'cp2 still reports boot boot-1; cp3 (10.0.0.3): connection refused',
    ],
    [
      'another member is not healthy',
      { except: { cp3: { talos: { etcdService: { running: true, healthy: false } } } } },
      'EtcdNotWhole',
      'cp2 still reports boot boot-1; etcd on cp3 is running but not healthy; expected healthy',
    ],
    [
      'there are two control planes left',
      { controlPlanes: 2 },
      'ClusterTransitioning',
      'cp2 still reports boot boot-1; there are 2 control planes; expected an odd number',
    ],
  ])('is not asked for again while %s', (_what, options, reason, message) => {
    expect(decide(asked(300, {}, options))).toEqual({ kind: 'blocked', reason, message, recheckAfterMs: 30_000 });
  });

  it('is asked for again though another machine lost the stage meanwhile: the pass that gives it back waits for this reboot', () => {
    const behind = { except: { cp3: { stands: 'Before', runs: 'Before' } } } as const;

    expect(decide(asked(300, {}, behind))).toMatchObject({
      effect: { kind: 'reboot', machine: 'cp2' },
      message: 'cp2 still reports boot boot-1; asking again',
    });
  });

  it('is not asked for again while such a machine is not well', () => {
    const etcdService = { running: false, healthy: false };
    const behind = { except: { cp3: { stands: 'Before', runs: 'Before', talos: { etcdService } } } } as const;

    expect(decide(asked(300, {}, behind))).toMatchObject({ kind: 'blocked', reason: 'EtcdNotWhole' });
  });

  it('is taken back where another machine was left behind and is not well: telling it comes first', () => {
    expect(decide(asked(300, {}, leftBehind()))).toEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'RebootingEtcd',
      message:
        'cp2 still reports boot boot-1; etcd on cp3 is not running; expected Running and healthy; that machine is told first, then the reboot is asked for anew',
      mark: GONE,
    });
  });

  it('is not taken back before its time is over', () => {
    expect(decide(asked(299, {}, leftBehind()))).toMatchObject({ kind: 'wait', reason: 'RebootingEtcd' });
  });

  it('is not taken back where something else is in the way as well', () => {
    const options = leftBehind({ cp1: { apiServer: 'failing: etcd' } });

    expect(decide(asked(300, {}, options))).toMatchObject({ kind: 'blocked', reason: 'EtcdNotWhole' });
  });

  it('is not asked for again while the operation is paused', () => {
    expect(decide(asked(300, {}, { paused: true }))).toEqual({
      kind: 'wait',
      reason: 'PausedByUser',
      message: 'paused; cp2 still reports boot boot-1',
      recheckAfterMs: 5000,
    });
  });

  it('stops after twenty minutes instead of asking for ever', () => {
    const status = { etcdRestartedAt: ago(301), etcdRebootSince: ago(1201) };

    expect(decide(asked(1201, {}, { status }))).toEqual({
      kind: 'blocked',
      reason: 'RebootOverdue',
      message: 'cp2 still reports boot boot-1; expected another one',
      recheckAfterMs: 30_000,
    });
  });

  it('stops where the status lost when it was asked for', () => {
    const never = undefined as unknown as string;
    const status = { etcdRestartedAt: never, etcdRebootSince: never };

    expect(decide(asked(1, {}, { status }))).toMatchObject({ kind: 'blocked', reason: 'RebootOverdue' });
  });
});

describe('a machine that was never asked', () => {
  it('is asked even if the program was away for more than twenty minutes after it wrote the marker', () => {
    expect(decide(asked(5_000))).toMatchObject({
      kind: 'act',
      effect: { kind: 'reboot', machine: 'cp2' },
      message: 'cp2 still reports boot boot-1; asking again',
    });
  });
});

describe('a machine that is back in another boot', () => {
  it('is let back and counted once everything is whole', () => {
    expect(decide(asked(60, ANOTHER))).toStrictEqual({
      kind: 'act',
      effect: { kind: 'uncordon', machine: 'cp2' },
      reason: 'RebootingEtcd',
      message: 'cp2 is back in another boot and etcd is whole',
      after: { ...BACK, etcdRestarted: ['cp1', 'cp2'] },
    });
  });

  it('is only counted where it was somebody else who cordoned it', () => {
    expect(decide(asked(60, { boot: 'boot-2', node: { bootId: 'boot-2', cordoned: true } }))).toMatchObject({
      effect: { kind: 'update-status' },
      after: { etcdRestarted: ['cp1', 'cp2'] },
    });
  });

  it('is counted once, however often it rebooted', () => {
    const status = { etcdRestarted: ['cp2', 'cp1'] };

    expect(decide(asked(60, ANOTHER, { status }))).toMatchObject({ after: { etcdRestarted: ['cp1', 'cp2'] } });
  });

  it('is let back and counted while the operation is paused', () => {
    expect(decide(asked(60, ANOTHER, { paused: true }))).toMatchObject({
      effect: { kind: 'uncordon', machine: 'cp2' },
    });
  });

  it('is let back though a control plane has left meanwhile', () => {
    expect(decide(asked(60, ANOTHER, { controlPlanes: 2 }))).toMatchObject({ effect: { kind: 'uncordon' } });
  });

  it('is let back though another one was left two stages behind: that one is told next, and cannot become well before', () => {
    const talos = { etcdService: { running: true, healthy: false } };
    const cp3 = { stands: 'Before', talos, apiServer: 'failing: etcd', node: { ready: false } } as const;

    expect(decide(asked(1500, ANOTHER, { stage: 'Issuing', except: { cp3 } }))).toMatchObject({
      effect: { kind: 'uncordon', machine: 'cp2' },
    });
    expect(
      decide(asked(1500, ANOTHER, { stage: 'Issuing', except: { cp3: { ...cp3, stands: 'Accepting' } } })),
    ).toMatchObject({ kind: 'blocked', reason: 'EtcdNotWhole' });
  });

  const its = { watch: ['cp2'] };
  const notYet: [string, MachineOptions, string, { readonly watch?: string[] }][] = [
    [
      'its etcd is not healthy',
      { talos: { etcdService: { running: true, healthy: false } } },
      'cp2 is back; etcd on cp2 is running but not healthy; expected healthy',
      its,
    ],
    [
      'its kube-apiserver is not ready',
      { apiServer: 'failing: etcd' },
      'cp2 is back; kube-apiserver on cp2: failing: etcd; expected /readyz to answer ok',
      its,
    ],
    [
      'its Node is Ready from the boot before',
      { node: { ...OURS, bootId: 'boot-1' } },
      'cp2 is back; Node cp2 is Ready from the boot before; expected its kubelet to report boot boot-2',
      // Of its Node the API servers tell.
      {},
    ],
    [
      'its etcd certificates are not there yet',
      { runs: 'Before' },
      "cp2 is back; cp2: etcd's trust file holds c01dc01dc01d; expected c01dc01dc01d, cfcfcfcfcfcf in this order",
      its,
    ],
  ];

  it.each(notYet)('is waited for while %s', (_what, options, message, watch) => {
    expect(decide(asked(60, { ...ANOTHER, ...options }))).toEqual({
      kind: 'wait',
      reason: 'RebootingEtcd',
      message,
      recheckAfterMs: 1500,
      ...watch,
    });
  });

  it.each(notYet)('stops the roll after twenty minutes while %s', (_what, options, message) => {
    expect(decide(asked(1201, { ...ANOTHER, ...options }))).toMatchObject({ kind: 'blocked', message });
  });

  it('waits for the other machines too', () => {
    expect(
      decide(asked(60, ANOTHER, { except: { w1: { node: { ready: false, readyMessage: 'no heartbeat' } } } })),
    ).toMatchObject({
      kind: 'wait',
      message: 'cp2 is back; Node w1: no heartbeat; expected Ready',
    });
  });

  it('is looked at together with another one that is not well: it may go away again meanwhile', () => {
    const except = { cp1: { talos: { etcdService: { running: true, healthy: false } } } };

    expect(decide(asked(60, ANOTHER, { except }))).toMatchObject({
      kind: 'wait',
      message: 'cp2 is back; etcd on cp1 is running but not healthy; expected healthy',
      watch: ['cp2', 'cp1'],
    });
  });

  it('is let back though another machine lost the stage meanwhile: only the pass gives it that again', () => {
    const behind = { except: { cp1: { stands: 'Before', runs: 'Before' } } } as const;

    expect(decide(asked(60, ANOTHER, behind))).toMatchObject({ effect: { kind: 'uncordon', machine: 'cp2' } });
  });

  it('blocks at once where a person is needed', () => {
    const standing = { etcd: { stage: 'Foreign' as const, why: 'a third CA' } };

    expect(decide(asked(60, ANOTHER, { except: { cp3: { standing } } }))).toEqual({
      kind: 'blocked',
      reason: 'ForeignConfiguration',
      message: 'cp2 is back; cp3, etcd: a third CA',
      recheckAfterMs: 30_000,
    });
  });

  it('is taken up again where it came back on its old configuration', () => {
    const onOld = { ...ANOTHER, stands: 'Before' } as const;

    expect(decide(asked(60, onOld))).toStrictEqual({
      kind: 'act',
      effect: { kind: 'uncordon', machine: 'cp2' },
      reason: 'RebootingEtcd',
      message: 'cp2 came back with the configuration of an earlier stage; it is told and rebooted again',
      after: BACK,
    });
  });

  it('is taken up again though it has no Node that could be let back', () => {
    expect(decide(asked(60, { boot: 'boot-2', node: 'none', stands: 'Before' }))).toStrictEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'RebootingEtcd',
      message: 'cp2 came back with the configuration of an earlier stage; it is told and rebooted again',
      after: BACK,
    });
  });

  it('is measured from its new boot after that', () => {
    const observation = asked(60, { ...ANOTHER, stands: 'Before', node: { bootId: 'boot-2' } });
    const { operation } = observation;
    const caRotation = { ...operation.status.caRotation, ...GONE } as unknown as CaRotationStatus;

    const decision = decide({
      ...observation,
      operation: { ...operation, status: { ...operation.status, caRotation } },
    });

    expect(decision).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp2', stage: 'Accepting' },
      mark: { applied: [{ machine: 'cp1' }, { machine: 'cp3' }, { machine: 'cp2', bootID: 'boot-2' }] },
    });
  });
});
