import { describe, expect, it } from 'vitest';
import type { MachineOptions } from '../../../test/builders/machine.ts';
import { aCluster, memberId } from '../../../test/builders/machine.ts';
import { anObservation, type ObservationOptions } from '../../../test/builders/rotation.ts';
import { print } from '../../../test/builders/rotation-material.ts';
import { contextOf } from '../decide.ts';
import type { TalosReading } from '../observation.ts';
import { etcdIsWhole } from './etcd-is-whole.ts';
import { etcdKeepsQuorum } from './etcd-keeps-quorum.ts';
import { etcdPkiLoaded } from './etcd-pki-loaded.ts';

const PLANES = ['cp1', 'cp2', 'cp3'];
const voters = PLANES.map((name) => ({ id: memberId(name), name, learner: false }));

function whole(options: ObservationOptions = {}) {
  return etcdIsWhole(contextOf(anObservation({ targets: ['etcd'], ...options })));
}

describe('etcdIsWhole', () => {
  it.each([1, 3, 5])('lets %i control planes pass when each member is healthy and sees the others', (controlPlanes) => {
    expect(whole({ controlPlanes })).toBeUndefined();
  });

  /** Named with the machine where that one alone says it, without one where it takes what several say. */
  const sick: [string, MachineOptions, string, machine?: string][] = [
    [
      'an etcd that does not run',
      { talos: { etcdService: { running: false, healthy: false } } },
      'etcd on cp2 is not running; expected Running and healthy',
      'cp2',
    ],
    [
      'an etcd that runs and serves nothing, as one that boots with the old trust alone',
      { talos: { etcdService: { running: true, healthy: false } } },
      'etcd on cp2 is running but not healthy; expected healthy',
      'cp2',
    ],
    [
      'a member that does not answer',
      { etcdUnknown: 'deadline exceeded' },
      'etcd on cp2 does not say how it is: deadline exceeded',
      'cp2',
    ],
    [
      'a machine that does not answer',
      { unknown: 'unreachable' },
      'etcd on cp2 does not say how it is: the machine is unknown',
      'cp2',
    ],
    ['a member that sees no leader', { etcd: { leaderId: undefined } }, 'etcd on cp2 sees no leader', 'cp2'],
    [
      'a member that lists a learner',
      { etcd: { members: voters.map((each) => ({ ...each, learner: each.name === 'cp3' })) } },
      'etcd on cp2 lists cp3 as a learner; expected voters only',
    ],
    [
      'a learner whose name is not known yet, by its ID',
      { etcd: { members: voters.map((each) => (each.name === 'cp3' ? { ...each, name: '', learner: true } : each)) } },
      'etcd on cp2 lists 0000000000637033 as a learner; expected voters only',
    ],
    [
      'a member too few',
      { etcd: { members: voters.slice(0, 2) } },
      'etcd on cp2 lists 2 members (cp1, cp2) for 3 control planes; expected one each',
    ],
    [
      'a member too many, such as one that was left behind by a machine that is gone',
      { etcd: { members: [...voters, { id: '00000000deadbeef', name: 'cp4', learner: false }] } },
      'etcd on cp2 lists 4 members (cp1, cp2, cp3, cp4) for 3 control planes; expected one each',
    ],
    [
      'a list without the member itself',
      { etcd: { memberId: '00000000deadbeef' } },
      'etcd on cp1 lists cp2 (0000000000637032), which is on no control plane',
    ],
    [
      'a stranger whose name is not known yet',
      { etcd: { members: [...voters.slice(0, 2), { id: '00000000deadbeef', name: '', learner: false }] } },
      'etcd on cp2 lists a member (00000000deadbeef), which is on no control plane',
    ],
    [
      'a stranger in place of a control plane',
      { etcd: { members: [...voters.slice(0, 2), { id: '00000000deadbeef', name: 'cp9', learner: false }] } },
      'etcd on cp2 lists cp9 (00000000deadbeef), which is on no control plane',
    ],
  ];

  it('stops at a control plane that has no etcd, and at one that was not asked how its etcd is', () => {
    const machines = aCluster({ targets: ['etcd'], stands: 'Accepting' });
    const [, cp2] = machines;
    if (cp2?.talos.known !== true) throw new Error('cp2 is known');
    const { etcdService: _service, ...noService } = cp2.talos.value;
    const { etcd: _etcd, ...notAsked } = cp2.talos.value;
    const instead = (value: TalosReading) =>
      machines.map((each) => (each === cp2 ? { ...cp2, talos: { known: true as const, value } } : each));

    expect(whole({ machines: instead(noService) })?.message).toBe(
      'etcd on cp2 is not running; expected Running and healthy',
    );
    expect(whole({ machines: instead(notAsked) })?.message).toBe('etcd on cp2 does not say how it is: not asked');
  });

  it.each(sick)('stops at %s', (_what, cp2, message, machine) => {
    expect(whole({ except: { cp2 } })).toEqual({
      reason: 'EtcdNotWhole',
      message,
      ...(machine && { machines: [machine] }),
    });
  });

  it('stops at a member that its own list does not hold', () => {
    const except = { cp1: { etcd: { memberId: '00000000deadbeef' } } };

    expect(whole({ except })?.message).toBe('etcd on cp1 does not list itself (00000000deadbeef)');
  });

  it('names an alarm', () => {
    expect(whole({ except: { cp3: { etcd: { alarms: ['NOSPACE of member 0000000000637033'] } } } })).toEqual({
      reason: 'EtcdAlarm',
      message: 'etcd on cp3 reports NOSPACE of member 0000000000637033; expected no alarm',
    });
  });

  it('names every alarm', () => {
    expect(whole({ except: { cp3: { etcd: { alarms: ['NOSPACE', 'CORRUPT'] } } } })?.message).toBe(
      'etcd on cp3 reports NOSPACE, CORRUPT; expected no alarm',
    );
  });

  it('compares members by ID: one whose name is not known yet is not a missing one', () => {
    const etcd = { members: voters.map((each) => ({ ...each, name: '' })) };

    expect(whole({ except: { cp2: { etcd } } })).toBeUndefined();
  });

  it('asks nothing of workers', () => {
    expect(whole({ except: { w1: { unknown: 'unreachable' } } })).toBeUndefined();
  });
});

describe('etcdIsWhole while cp3 is told that was left behind', () => {
  function others(options: ObservationOptions) {
    const context = contextOf(anObservation({ targets: ['etcd'], ...options }));
    return etcdIsWhole({ ...context, leftBehind: new Set(['cp3']) });
  }
  const sick: MachineOptions = { talos: { etcdService: { running: false, healthy: false } } };

  it('asks nothing of its member', () => {
    expect(others({ except: { cp3: sick } })).toBeUndefined();
  });

  it.each([
    ['no member', voters.slice(0, 2)],
    ['a learner', voters.map((each) => ({ ...each, learner: each.name === 'cp3' }))],
  ])('does not mind when the others list it as %s', (_what, members) => {
    expect(others({ except: { cp1: { etcd: { members } }, cp2: { etcd: { members } }, cp3: sick } })).toBeUndefined();
  });

  it('stops at a second member that is not well', () => {
    expect(others({ except: { cp2: sick, cp3: sick } })?.message).toBe(
      'etcd on cp2 is not running; expected Running and healthy',
    );
  });

  it('stops at a member that belongs to no control plane', () => {
    const members = [...voters, { id: '00000000deadbeef', name: 'cp9', learner: false }];

    expect(others({ except: { cp1: { etcd: { members } }, cp3: sick } })?.message).toBe(
      'etcd on cp1 lists 4 members (cp1, cp2, cp3, cp9) for 3 control planes; expected one each',
    );
  });

  it('stops at strangers in place of control planes that are asked', () => {
    const five = ['cp1', 'cp2', 'cp3', 'cp4', 'cp5'].map((name) => ({ id: memberId(name), name, learner: false }));
    const strangers = ['cp8', 'cp9'].map((name) => ({ id: memberId(name), name, learner: false }));
    const members = [...five.slice(0, 2), ...strangers];

    expect(others({ controlPlanes: 5, except: { cp1: { etcd: { members } } } })?.message).toBe(
      'etcd on cp1 lists cp8 (0000000000637038), which is on no control plane',
    );
  });
});

describe('etcdKeepsQuorum', () => {
  it.each([1, 3, 5])('lets %i control planes pass', (controlPlanes) => {
    expect(etcdKeepsQuorum(contextOf(anObservation({ controlPlanes })))).toBeUndefined();
  });

  it.each([2, 4])('refuses %i control planes, which tolerate no loss of half of them', (controlPlanes) => {
    expect(etcdKeepsQuorum(contextOf(anObservation({ controlPlanes })))).toEqual({
      reason: 'ClusterTransitioning',
      message: `there are ${controlPlanes} control planes; expected an odd number`,
    });
  });

  it('refuses a cluster without a control plane', () => {
    expect(etcdKeepsQuorum(contextOf(anObservation({ controlPlanes: 0 })))).toEqual({
      reason: 'MachineListIncomplete',
      message: 'no control plane was found',
    });
  });
});

describe('etcdPkiLoaded', () => {
  function loaded(options: ObservationOptions) {
    return etcdPkiLoaded(contextOf(anObservation({ targets: ['etcd'], ...options })));
  }

  it.each(['Accepting', 'Issuing', 'Dropping'] as const)('passes where every control plane took %s', (stage) => {
    expect(loaded({ stage })).toBeUndefined();
  });

  it.each([
    ['Accepting', "cp2: etcd's trust file holds c01dc01dc01d; expected c01dc01dc01d, cfcfcfcfcfcf in this order"],
    [
      'Issuing',
      "cp2: etcd's trust file holds c01dc01dc01d, cfcfcfcfcfcf; expected cfcfcfcfcfcf, c01dc01dc01d in this order",
    ],
    ['Dropping', "cp2: etcd's trust file holds cfcfcfcfcfcf, c01dc01dc01d; expected cfcfcfcfcfcf in this order"],
  ] as const)('stops in %s at a machine whose controllers did not take the configuration', (stage, message) => {
    const runs = ({ Accepting: 'Before', Issuing: 'Accepting', Dropping: 'Issuing' } as const)[stage];

    expect(loaded({ stage, except: { cp2: { runs } } })).toEqual({
      reason: 'EtcdPkiNotLoaded',
      message,
      machines: ['cp2'],
    });
  });

  it('stops at a trust file that lost a block, as one without a newline between two does', () => {
    expect(loaded({ except: { cp3: { pki: { etcdTrusted: [] } } } })?.message).toBe(
      "cp3: etcd's trust file holds nothing; expected c01dc01dc01d, cfcfcfcfcfcf in this order",
    );
  });

  it('stops at a leaf that another CA signed', () => {
    expect(loaded({ except: { cp1: { pki: { etcdLeafIssuer: print('eeee') } } } })?.message).toBe(
      "cp1: etcd's certificate is issued by eeeeeeeeeeee; expected c01dc01dc01d",
    );
  });

  it('leaves a machine that is unknown to the gate that asks for it', () => {
    expect(loaded({ except: { cp1: { unknown: 'unreachable' } } })).toBeUndefined();
  });

  it('asks nothing where etcd is no target', () => {
    expect(loaded({ targets: ['talos'], except: { cp1: { runs: 'Before' } } })).toBeUndefined();
  });
});
