import { describe, expect, it } from 'vitest';
import type { CaRotationStatus } from '../../api/v1alpha1/index.ts';
import type { MachineOptions } from '../../test/builders/machine.ts';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { NEW, OLD } from '../../test/builders/rotation-material.ts';
import { decide } from './decide.ts';

const OURS = { node: { cordoned: true, cordonedByUs: true } };

/** Every control plane was told in the boot that it is still in: all of them must reboot. */
function toRoll(options: ObservationOptions = {}, stage: 'Accepting' | 'Issuing' | 'Dropping' = 'Accepting') {
  const applied = ['cp1', 'cp2', 'cp3'].map((name) => wasTold(name, stage, { bootID: 'boot-1' }));
  return anObservation({ stage, targets: ['etcd'], leader: 'cp3', ...options, status: { applied, ...options.status } });
}

/** `cp1` is cordoned and being drained since the given number of seconds. */
function draining(seconds: number, options: ObservationOptions = {}) {
  const status: Partial<CaRotationStatus> = {
    etcdDraining: 'cp1',
    drainStartedAt: ago(seconds),
    ...options.status,
  };
  return toRoll({ ...options, except: { cp1: OURS, ...options.except }, status });
}

function pods(...value: { pod: string; heldBy?: string }[]): ObservationOptions['kubernetes'] & object {
  return { draining: { known: true, value } };
}

describe('the roll of a control plane, step by step', () => {
  it('cordons it first', () => {
    expect(decide(toRoll())).toEqual({
      kind: 'act',
      effect: { kind: 'cordon', machine: 'cp1' },
      reason: 'CordoningControlPlane',
      message: 'cp1: cordoning it before its reboot',
      mark: { etcdDraining: 'cp1', drainStartedAt: '2026-11-05T12:00:00.000Z' },
    });
  });

  it('drains it, naming a pod and what holds it', () => {
    const kubernetes = pods({ pod: 'default/web-1' }, { pod: 'default/db-0', heldBy: 'PodDisruptionBudget db' });

    expect(decide(draining(10, { kubernetes }))).toEqual({
      kind: 'act',
      effect: { kind: 'drain', machine: 'cp1' },
      reason: 'DrainingControlPlane',
      message: 'cp1: 2 pods to move, among them default/db-0, held by PodDisruptionBudget db',
      mark: { drainTriedAt: '2026-11-05T12:00:00.000Z' },
    });
  });

  it('asks it to give up leadership, once', () => {
    expect(decide(draining(10, { leader: 'cp1' }))).toEqual({
      kind: 'act',
      effect: { kind: 'forfeit-leadership', machine: 'cp1' },
      reason: 'RebootingEtcd',
      message: 'cp1 leads etcd; asking it to hand over before its reboot',
      mark: { etcdForfeited: 'cp1' },
    });
  });

  it('writes the marker with the boot that it leaves, and reboots it', () => {
    expect(decide(draining(10))).toEqual({
      kind: 'act',
      effect: { kind: 'reboot', machine: 'cp1' },
      reason: 'RebootingEtcd',
      message: 'cp1: rebooting, so that its etcd and kube-apiserver read the certificates of Accepting',
      mark: {
        etcdRebooting: 'cp1',
        etcdRebootBootID: 'boot-1',
        etcdRestartedAt: '2026-11-05T12:00:00.000Z',
        etcdRebootSince: '2026-11-05T12:00:00.000Z',
      },
    });
  });

  it('reboots a leader that did not let go', () => {
    expect(decide(draining(10, { leader: 'cp1', status: { etcdForfeited: 'cp1' } }))).toMatchObject({
      effect: { kind: 'reboot', machine: 'cp1' },
    });
  });

  it('asks no single member to hand over', () => {
    expect(decide(draining(10, { controlPlanes: 1, leader: 'cp1' }))).toMatchObject({
      effect: { kind: 'reboot', machine: 'cp1' },
    });
  });

  it('touches none while somebody else has cordoned another one, and may take it away', () => {
    const except = {
      cp1: { node: { cordoned: true, cordonedByUs: true } },
      cp2: { node: { cordoned: true } },
    } as const;

    expect(decide(toRoll({ except, status: { etcdDraining: 'cp1' } }))).toMatchObject({
      kind: 'blocked',
      reason: 'ControlPlaneCordoned',
    });
  });

  it('drains a machine that somebody else cordoned, without taking the cordon over', () => {
    expect(decide(toRoll({ except: { cp1: { node: { cordoned: true } } } }))).toEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'DrainingControlPlane',
      message: 'cp1: it is cordoned already; draining it',
      mark: { etcdDraining: 'cp1', drainStartedAt: '2026-11-05T12:00:00.000Z' },
    });
  });
});

describe('which control planes are rebooted', () => {
  it('each that is still in the boot in which it was told', () => {
    const except = { cp1: { boot: 'boot-2' } };

    expect(decide(toRoll({ except }))).toMatchObject({ effect: { kind: 'cordon', machine: 'cp2' } });
  });

  it('not one that rebooted by itself since', () => {
    const applied = ['cp1', 'cp2', 'cp3'].map((name) => wasTold(name, 'Accepting', { bootID: 'boot-0' }));

    expect(decide(toRoll({ status: { applied } }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Issuing' },
    });
  });

  it('one without a record, once its boot has been written down', () => {
    const applied = ['cp1', 'cp3'].map((name) => wasTold(name, 'Accepting', { bootID: 'boot-0' }));

    expect(decide(toRoll({ status: { applied } }))).toEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'RollingControlPlanes',
      message: 'cp2 stands at this stage without a record of its boot; it will be rebooted',
      mark: {
        applied: [
          ...applied,
          { machine: 'cp2', stage: 'Accepting', bootID: 'boot-1', appliedAt: '2026-11-05T12:00:00.000Z' },
        ],
      },
    });
  });

  it('one without a record is not asked for a new kube-apiserver before its reboot', () => {
    const applied = [
      wasTold('cp1', 'Accepting'),
      { machine: 'cp2', stage: 'Accepting' as const, bootID: 'boot-1', appliedAt: ago(0) },
      wasTold('cp3', 'Accepting'),
    ];

    expect(decide(toRoll({ targets: ['etcd', 'kubernetes'], status: { applied } }))).toMatchObject({
      effect: { kind: 'cordon', machine: 'cp2' },
    });
  });

  it('none where no target is read at start only', () => {
    expect(decide(toRoll({ targets: ['talos', 'kubernetes-aggregator'] }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'AwaitingCredentials' },
    });
  });

  it('none before every machine, the workers too, runs the configuration of the stage', () => {
    const except = { w1: { stands: 'Before' } } as const;

    expect(decide(toRoll({ targets: ['talos', 'etcd'], except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'w1' },
    });
  });
});

describe('the gates of the roll', () => {
  const cp3 = (options: MachineOptions): ObservationOptions => ({ except: { cp1: OURS, cp3: options } });
  const inTheWay: [string, ObservationOptions, string, string][] = [
    [
      'an unhealthy member',
      cp3({ talos: { etcdService: { running: true, healthy: false } } }),
      'EtcdNotWhole',
      'etcd on cp3 is running but not healthy; expected healthy',
    ],
    [
      'a member that sees no leader',
      cp3({ etcd: { leaderId: undefined } }),
      'EtcdNotWhole',
      'etcd on cp3 sees no leader',
    ],
    ['an alarm', cp3({ etcd: { alarms: ['NOSPACE'] } }), 'EtcdAlarm', 'etcd on cp3 reports NOSPACE; expected no alarm'],
    [
      'a machine that does not answer',
      cp3({ unknown: 'unreachable' }),
      'MachineUnknown',
      'cp3 (10.0.0.3): connection refused',
    ],
    [
      'a Node that is not Ready',
      cp3({ node: { ready: false, readyMessage: 'no heartbeat' } }),
      'NodeNotReady',
      'Node cp3: no heartbeat; expected Ready',
    ],
    [
      'a machine that somebody else is rebooting',
      cp3({ boot: 'boot-2', node: { bootId: 'boot-1' } }),
      'NodeNotReady',
      'Node cp3 is Ready from the boot before; expected its kubelet to report boot boot-2',
    ],
    [
      'a foreign edit',
      cp3({ standing: { etcd: { stage: 'Foreign', why: 'a third CA' } } }),
      'ForeignConfiguration',
      'cp3, etcd: a third CA',
    ],
    [
      'an even number of control planes',
      {
        controlPlanes: 4,
        except: { cp1: OURS, cp4: { boot: 'boot-2' } },
        status: {
          applied: ['cp1', 'cp2', 'cp3', 'cp4'].map((name) => wasTold(name, 'Accepting', { bootID: 'boot-1' })),
        },
      },
      'ClusterTransitioning',
      'there are 4 control planes; expected an odd number',
    ],
  ];

  it.each(inTheWay)('%s blocks the reboot of a machine that is drained already', (_what, options, reason, message) => {
    expect(decide(draining(10, options))).toEqual({ kind: 'blocked', reason, message, recheckAfterMs: 30_000 });
  });

  it.each(inTheWay)('%s blocks the cordon as well', (_what, options, reason, message) => {
    const { cp1: _ours, ...except } = options.except ?? {};

    expect(decide(toRoll({ ...options, except }))).toEqual({
      kind: 'blocked',
      reason,
      message,
      recheckAfterMs: 30_000,
    });
  });

  it('a kube-apiserver that is not ready holds it as a proof of the pass', () => {
    expect(decide(draining(10, cp3({ apiServer: 'failing: etcd' })))).toMatchObject({
      kind: 'blocked',
      reason: 'ProvingMachine',
      message: 'cp3: its kube-apiserver does not answer /readyz: failing: etcd',
    });
  });

  it('etcd certificates that are not the stage’s hold it as a proof of the pass', () => {
    expect(decide(draining(10, cp3({ runs: 'Before' })))).toMatchObject({
      kind: 'blocked',
      reason: 'ProvingMachine',
      message: "cp3: etcd's trust file holds c01dc01dc01d; expected c01dc01dc01d, cfcfcfcfcfcf in this order",
    });
  });
});

describe('a drain', () => {
  const held = pods({ pod: 'default/db-0', heldBy: 'PodDisruptionBudget db' });

  it('waits for the list of pods', () => {
    const { draining: _none, ...kubernetes } = draining(10).kubernetes;

    expect(decide({ ...draining(10), kubernetes })).toEqual({
      kind: 'wait',
      reason: 'DrainingControlPlane',
      message: 'cp1: listing its pods',
      recheckAfterMs: 1500,
    });
  });

  it('names the first pod where nothing holds any', () => {
    const kubernetes = pods({ pod: 'default/web-1' }, { pod: 'default/web-2' });

    expect(decide(draining(10, { kubernetes })).message).toBe('cp1: 2 pods to move, among them default/web-1');
  });

  it('stops where no API server lists them', () => {
    const kubernetes = { draining: { known: false, why: 'failed', message: '503' } } as const;

    expect(decide(draining(10, { kubernetes }))).toMatchObject({
      kind: 'blocked',
      reason: 'KubernetesUnknown',
      message: 'pods of cp1: 503',
    });
  });

  const tried = (seconds: number) => ({ status: { drainTriedAt: ago(seconds) } });

  it('gives pods five seconds to go before they are asked again', () => {
    expect(decide(draining(300, { kubernetes: held, ...tried(4) }))).toEqual({
      kind: 'wait',
      reason: 'DrainingControlPlane',
      message: 'cp1: 1 pod to move, among them default/db-0, held by PodDisruptionBudget db',
      recheckAfterMs: 1500,
    });
    expect(decide(draining(300, { kubernetes: held, ...tried(5) }))).toMatchObject({ effect: { kind: 'drain' } });
  });

  it('blocks after five minutes, naming the pod and its budget', () => {
    expect(decide(draining(301, { kubernetes: held, ...tried(29) }))).toEqual({
      kind: 'blocked',
      reason: 'DrainingControlPlane',
      message:
        'cp1: 1 pod to move, among them default/db-0, held by PodDisruptionBudget db; expected it to be empty by now',
      recheckAfterMs: 30_000,
    });
  });

  it('still asks every thirty seconds then: the budget may have become free', () => {
    expect(decide(draining(3000, { kubernetes: held, ...tried(30) }))).toEqual({
      kind: 'act',
      effect: { kind: 'drain', machine: 'cp1' },
      reason: 'DrainingControlPlane',
      message:
        'cp1: 1 pod to move, among them default/db-0, held by PodDisruptionBudget db; expected it to be empty by now',
      mark: { drainTriedAt: '2026-11-05T12:00:00.000Z' },
    });
  });

  it('lets go of a machine that rebooted by itself meanwhile', () => {
    const except = { cp1: { boot: 'boot-2', node: { ...OURS.node, bootId: 'boot-2' } } };

    // Strictly: what is not taken out of the status stays in it.
    expect(decide(draining(10, { except }))).toStrictEqual({
      kind: 'act',
      effect: { kind: 'uncordon', machine: 'cp1' },
      reason: 'RollingControlPlanes',
      message: 'cp1 was being drained and need not be rebooted any more; letting pods back',
      after: {
        etcdDraining: undefined,
        drainStartedAt: undefined,
        drainTriedAt: undefined,
        etcdForfeited: undefined,
        evacuation: undefined,
      },
    });
  });

  it.each<[string, MachineOptions]>([
    ['was cordoned by somebody else', { boot: 'boot-2', node: { cordoned: true, bootId: 'boot-2' } }],
    ['has lost its Node', { boot: 'boot-2', node: 'none' }],
    ['has a Node that nobody can read', { boot: 'boot-2', node: 'unknown' }],
  ])('only forgets one that rebooted by itself and %s', (_what, cp1) => {
    expect(decide(draining(10, { except: { cp1 } }))).toMatchObject({
      effect: { kind: 'update-status' },
      after: { etcdDraining: undefined },
    });
  });

  it('forgets a machine that left the cluster', () => {
    const observation = draining(10, { status: { etcdDraining: 'cp9' }, except: { cp1: {} } });

    expect(decide(observation)).toMatchObject({
      effect: { kind: 'update-status' },
      after: { etcdDraining: undefined },
    });
  });

  it('lets go of that one and not of another that is cordoned', () => {
    const applied = ['cp1', 'cp2', 'cp3'].map((name) => wasTold(name, 'Accepting'));
    const status = { applied, etcdDraining: 'cp2' };

    expect(decide(toRoll({ except: { cp2: OURS }, status }))).toMatchObject({
      effect: { kind: 'uncordon', machine: 'cp2' },
    });
    expect(decide(toRoll({ except: { cp1: OURS }, status }))).toMatchObject({ effect: { kind: 'update-status' } });
  });

  it('goes on with the machine that is cordoned before another one is', () => {
    const status = { etcdDraining: 'cp2', drainStartedAt: ago(5) };

    expect(decide(toRoll({ except: { cp2: OURS }, status }))).toMatchObject({
      effect: { kind: 'reboot', machine: 'cp2' },
    });
  });
});

describe('the roll after Issuing', () => {
  const nothing = { known: false, why: 'unreachable', message: 'connection refused' } as const;
  const old = { known: true, value: { client: undefined, peer: undefined } } as const;

  it('is skipped where every control plane serves a leaf of the new CA on both ports', () => {
    expect(decide(toRoll({}, 'Issuing'))).toMatchObject({ effect: { kind: 'enter-stage', stage: 'Dropping' } });
  });

  it.each([
    ['a probe that cannot connect', nothing],
    ['a leaf of another CA', old],
  ])('waits half a minute for %s', (_what, served) => {
    const status = { stageStartedAt: ago(29) };

    expect(decide(toRoll({ except: { cp2: { served } }, status }, 'Issuing'))).toEqual({
      kind: 'wait',
      reason: 'ProvingMachine',
      message: 'cp2: etcd is not seen to serve a certificate of the new CA on 2379 and 2380 yet',
      recheckAfterMs: 1500,
      watch: ['cp2'],
    });
  });

  it.each([
    ['a probe that cannot connect', nothing],
    ['a leaf of another CA', old],
  ])('is then done after all for a machine with %s, and for no other', (_what, served) => {
    expect(decide(toRoll({ except: { cp2: { served } } }, 'Issuing'))).toMatchObject({
      effect: { kind: 'cordon', machine: 'cp2' },
    });
  });

  it('is done once half a minute is over, to the millisecond', () => {
    const at = (seconds: number) =>
      decide(toRoll({ except: { cp2: { served: nothing } }, status: { stageStartedAt: ago(seconds) } }, 'Issuing'));

    expect(at(29.999).kind).toBe('wait');
    expect(at(30)).toMatchObject({ effect: { kind: 'cordon', machine: 'cp2' } });
  });

  it('is skipped though nobody remembers when a machine was told', () => {
    const applied = [wasTold('cp1', 'Issuing', { bootID: 'boot-1' })];

    expect(decide(toRoll({ status: { applied } }, 'Issuing'))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Dropping' },
    });
  });

  it('does not wait for a probe where every control plane was seen to serve it a moment ago', () => {
    const status = { stageStartedAt: ago(1) };

    expect(decide(toRoll({ status }, 'Issuing'))).toMatchObject({ effect: { kind: 'enter-stage' } });
  });

  it('does not wait for a probe where a machine is being drained already', () => {
    const status = { stageStartedAt: ago(1), etcdDraining: 'cp2', drainStartedAt: ago(1) };
    const except = { cp2: { ...OURS, served: nothing } };

    expect(decide(toRoll({ except, status }, 'Issuing'))).toMatchObject({ effect: { kind: 'reboot', machine: 'cp2' } });
  });

  describe('of a machine that was told two stages at once, as one whose disk was restored', () => {
    /** `boot-1` is the boot in which it was told. */
    const told = (bootID: string): Partial<CaRotationStatus> => ({
      applied: ['cp1', 'cp2', 'cp3'].map((name) =>
        wasTold(name, 'Issuing', { bootID: 'boot-1', ...(name === 'cp3' ? { bootID, leftBehind: true } : {}) }),
      ),
    });

    it('is done although it serves the new leaf: what its etcd trusts is older than that', () => {
      expect(decide(toRoll({ status: told('boot-1') }, 'Issuing'))).toMatchObject({
        effect: { kind: 'cordon', machine: 'cp3' },
      });
    });

    it('is over with another boot', () => {
      expect(decide(toRoll({ status: told('boot-0') }, 'Issuing'))).toMatchObject({
        effect: { kind: 'enter-stage', stage: 'Dropping' },
      });
    });

    it('comes before that of the others, which not all can connect to it', () => {
      const except = { cp1: { served: nothing } };

      expect(decide(toRoll({ except, status: told('boot-1') }, 'Issuing'))).toMatchObject({
        effect: { kind: 'cordon', machine: 'cp3' },
      });
    });
  });

  it('waits for a probe that was not made', () => {
    const observation = toRoll({ status: { stageStartedAt: ago(1) } }, 'Issuing');
    const machines = observation.machines.map(({ etcdServed, ...machine }) =>
      machine.name === 'cp3' || etcdServed === undefined ? machine : { ...machine, etcdServed },
    );

    expect(decide({ ...observation, machines })).toMatchObject({
      kind: 'wait',
      message: 'cp3: etcd is not seen to serve a certificate of the new CA on 2379 and 2380 yet',
    });
  });

  it('is skipped whatever else is rotated besides: no probe of etcd shows a certificate of another CA', () => {
    expect(decide(toRoll({ targets: ['talos', 'etcd'] }, 'Issuing'))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Dropping' },
    });
  });

  it.each([
    ['client', { client: NEW.etcd, peer: OLD.etcd }],
    ['peer', { client: OLD.etcd, peer: NEW.etcd }],
  ])('is done where only the %s port serves the new leaf', (_which, value) => {
    const served = { known: true, value } as const;

    expect(decide(toRoll({ except: { cp3: { served } } }, 'Issuing'))).toMatchObject({
      effect: { kind: 'cordon', machine: 'cp3' },
    });
  });

  it('is over for a machine that rebooted, though no probe reaches it', () => {
    const except = { cp2: { served: nothing, boot: 'boot-2' } };

    expect(decide(toRoll({ except }, 'Issuing'))).toMatchObject({ effect: { kind: 'enter-stage', stage: 'Dropping' } });
  });

  it('lets go of a drained machine that is seen to serve the new leaf at last', () => {
    const status = { etcdDraining: 'cp1', drainStartedAt: ago(20) };

    expect(decide(toRoll({ except: { cp1: OURS }, status }, 'Issuing'))).toMatchObject({
      effect: { kind: 'uncordon', machine: 'cp1' },
    });
  });

  it('is not asked for where etcd is no target', () => {
    const except = { cp1: { served: nothing } };
    const status = { stageStartedAt: ago(1) };

    expect(decide(anObservation({ stage: 'Issuing', targets: ['talos'], except, status }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Dropping' },
    });
  });
});

describe('the roll after Dropping', () => {
  it('reboots every control plane again, whatever it serves', () => {
    expect(decide(toRoll({}, 'Dropping'))).toMatchObject({ effect: { kind: 'cordon', machine: 'cp1' } });
  });
});
