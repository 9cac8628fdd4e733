import { describe, expect, it } from 'vitest';
import type { MachineOptions } from '../../../test/builders/machine.ts';
import { anObservation, type ObservationOptions } from '../../../test/builders/rotation.ts';
import { contextOf } from '../decide.ts';
import { apiServersReady } from './api-servers-ready.ts';
import { clocksAgree } from './clocks-agree.ts';
import { controlPlanePodsReady } from './control-plane-pods-ready.ts';
import { everyMachineKnown } from './every-machine-known.ts';
import { everyMachineListed } from './every-machine-listed.ts';
import { nobodyCordoned } from './nobody-cordoned.ts';
import { nodesReady } from './nodes-ready.ts';

function context(options: ObservationOptions = {}) {
  return contextOf(anObservation(options));
}

describe('everyMachineKnown', () => {
  it('passes when every machine answers and the list is complete', () => {
    expect(everyMachineKnown(context())).toBeUndefined();
  });

  it.each([
    ['unreachable', 'MachineUnknown', 'w1 (10.0.0.1): connection refused'],
    ['failed', 'MachineUnknown', 'w1 (10.0.0.1): the call failed'],
    ['untrusted', 'MachineUntrusted', 'w1 (10.0.0.1): the certificate it shows is signed by no known CA'],
    ['maintenance', 'MachineInMaintenance', 'w1 (10.0.0.1): it waits for its first configuration'],
  ] as const)('tells a machine that is %s from the others', (unknown, reason, message) => {
    expect(everyMachineKnown(context({ except: { w1: { unknown } } }))).toEqual({ reason, message, machines: ['w1'] });
  });

  it('stops where the list of machines may not be complete', () => {
    expect(everyMachineKnown(context({ machinesIncomplete: 'no API server listed the Nodes' }))).toEqual({
      reason: 'MachineListIncomplete',
      message: 'no API server listed the Nodes',
    });
  });

  it('says why the list may not be complete rather than that no control plane is in it', () => {
    expect(everyMachineKnown(context({ controlPlanes: 0, machinesIncomplete: 'no API server answers' }))).toEqual({
      reason: 'MachineListIncomplete',
      message: 'no API server answers',
    });
  });

  it('stops at a list without a control plane: of nothing everything is true', () => {
    expect(everyMachineKnown(context({ controlPlanes: 0 }))).toEqual({
      reason: 'MachineListIncomplete',
      message: 'no control plane was found',
    });
  });
});

describe('everyMachineListed', () => {
  const w9 = { name: 'w9', address: '10.0.0.9', answers: true };

  it('stops where a machine without a Node answers, and names each', () => {
    const unlisted = { known: true, value: [w9, { ...w9, name: 'w8', address: '10.0.0.8' }] } as const;

    expect(everyMachineListed(context({ unlisted }))).toEqual({
      reason: 'MachineListIncomplete',
      message:
        'without a Node, and of this cluster by discovery: w9 (10.0.0.9), w8 (10.0.0.8); expected a Node for every machine, ' +
        'because one without it (machine.kubelet.skipNodeRegistration) is told of no stage and cut off in Dropping',
    });
  });

  it('passes where those that have none do not answer: what an autoscaler removed stays in discovery for half an hour', () => {
    const unlisted = { known: true, value: [{ ...w9, answers: false }] } as const;

    expect(everyMachineListed(context({ unlisted }))).toBeUndefined();
  });

  it('passes where discovery is off', () => {
    const unlisted = { known: false, why: 'failed', message: 'discovery names 0 of the 4 machines' } as const;

    expect(everyMachineListed(context({ unlisted }))).toBeUndefined();
  });

  it('passes where the rotation is about control planes alone', () => {
    const unlisted = { known: true, value: [w9] } as const;

    expect(everyMachineListed(context({ unlisted, targets: ['etcd', 'kubernetes-aggregator'] }))).toBeUndefined();
  });
});

describe('apiServersReady', () => {
  it('passes when each answers on its own machine', () => {
    expect(apiServersReady(context())).toBeUndefined();
  });

  it('names the machine, though the two others are ready', () => {
    expect(apiServersReady(context({ except: { cp2: { apiServer: 'failing: etcd' } } }))).toEqual({
      reason: 'ApiServerNotReady',
      message: 'kube-apiserver on cp2: failing: etcd; expected /readyz to answer ok',
      machines: ['cp2'],
    });
  });

  it('takes one that cannot be asked for not ready', () => {
    expect(apiServersReady(context({ except: { cp3: { unknown: 'unreachable' } } }))).toEqual({
      reason: 'ApiServerNotReady',
      message: 'kube-apiserver on cp3: connection refused; expected /readyz to answer ok',
      machines: ['cp3'],
    });
  });

  it('takes one that was not asked for not ready', () => {
    const machines = anObservation().machines.map((machine) => {
      const { apiServer, ...rest } = machine;
      return machine.name === 'cp2' || apiServer === undefined ? rest : machine;
    });

    expect(apiServersReady(context({ machines }))).toEqual({
      reason: 'ApiServerNotReady',
      message: 'kube-apiserver on cp2: not asked; expected /readyz to answer ok',
      machines: ['cp2'],
    });
  });
});

describe('nodesReady', () => {
  const unready: [string, MachineOptions, string][] = [
    [
      'is not Ready',
      { node: { ready: false, readyMessage: 'container runtime is down' } },
      'Node w1: container runtime is down; expected Ready',
    ],
    ['has no Node', { node: 'none' }, 'w1 has no Node; expected one that is Ready'],
    [
      'is Ready from the boot before, as after a loss of power',
      { boot: 'boot-2', node: { bootId: 'boot-1' } },
      'Node w1 is Ready from the boot before; expected its kubelet to report boot boot-2',
    ],
  ];

  it('passes when every machine has a Ready Node', () => {
    expect(nodesReady(context())).toBeUndefined();
  });

  it.each(unready)('stops at a machine that %s', (_what, w1, message) => {
    expect(nodesReady(context({ except: { w1 } }))).toEqual({ reason: 'NodeNotReady', message });
  });

  it('stops where no API server says how the Nodes are', () => {
    expect(nodesReady(context({ except: { cp1: { node: 'unknown' } } }))).toEqual({
      reason: 'KubernetesUnknown',
      message: 'the Node of cp1: no API server answers',
    });
  });

  it('does not mind a Node whose kubelet has not said yet in which boot it is', () => {
    expect(nodesReady(context({ except: { w1: { boot: 'boot-2', node: { bootId: '' } } } }))).toBeUndefined();
  });

  it('leaves a machine that is unknown to the gate that asks for it', () => {
    expect(nodesReady(context({ stage: 'Dropping', except: { w1: { unknown: 'unreachable' } } }))).toBeUndefined();
  });

  it('does not mind a Node that somebody cordoned', () => {
    expect(nodesReady(context({ except: { w1: { node: { cordoned: true } } } }))).toBeUndefined();
  });
});

describe('clocksAgree', () => {
  const aheadBy = (clockAheadMs: number) => clocksAgree(context({ except: { w1: { node: { clockAheadMs } } } }));

  it.each([0, 120_000, -120_000])('passes where a clock is %i ms ahead', (clockAheadMs) => {
    expect(aheadBy(clockAheadMs)).toBeUndefined();
  });

  it.each([
    [150_001, 'the clock of w1 is 3 minutes ahead of that of this host; expected at most 2 minutes'],
    [-300_000, 'the clock of w1 is 5 minutes behind that of this host; expected at most 2 minutes'],
    [86_400_000, 'the clock of w1 is 24 hours ahead of that of this host; expected at most 2 minutes'],
  ])(
    'stops where one is %i ms ahead, whose certificates nobody would take yet, or that would take none',
    (ms, message) => {
      expect(aheadBy(ms)).toEqual({ reason: 'ClocksDisagree', message });
    },
  );

  it('leaves machines without a Node to the gates that ask for it', () => {
    expect(clocksAgree(context({ except: { w1: { node: 'none' }, cp1: { node: 'unknown' } } }))).toBeUndefined();
  });
});

describe('nobodyCordoned', () => {
  const rolled = (options: ObservationOptions = {}) => context({ targets: ['etcd'], ...options });

  it('passes where no control plane is to be rebooted, or there is no other one', () => {
    const cordoned = { cp1: { node: { cordoned: true } } };

    expect(nobodyCordoned(context({ except: cordoned }))).toBeUndefined();
    expect(nobodyCordoned(rolled({ controlPlanes: 1, except: cordoned }))).toBeUndefined();
  });

  it('passes where nobody is cordoned, or only machines that rotate without a reboot', () => {
    expect(nobodyCordoned(rolled())).toBeUndefined();
    expect(nobodyCordoned(rolled({ except: { w1: { node: { cordoned: true } } } }))).toBeUndefined();
  });

  it('does not mind that the one to be rebooted is', () => {
    const cordoned = rolled({ except: { cp2: { node: { cordoned: true } } } });

    expect(nobodyCordoned({ ...cordoned, rebooted: 'cp2' })).toBeUndefined();
    expect(nobodyCordoned({ ...cordoned, rebooted: 'cp1' })).toMatchObject({ reason: 'ControlPlaneCordoned' });
  });

  it('does not mind who was cordoned by us', () => {
    expect(
      nobodyCordoned(rolled({ except: { cp1: { node: { cordoned: true, cordonedByUs: true } } } })),
    ).toBeUndefined();
  });

  it('stops while somebody else has cordoned a control plane', () => {
    expect(nobodyCordoned(rolled({ except: { cp2: { node: { cordoned: true } } } }))).toEqual({
      reason: 'ControlPlaneCordoned',
      message: 'Node cp2 is cordoned, and not by this rotation; expected that nobody else takes a control plane away',
    });
  });

  it('leaves a Node that cannot be read to the gate that asks for it', () => {
    expect(nobodyCordoned(rolled({ except: { cp1: { node: 'unknown' } } }))).toBeUndefined();
  });
});

describe('controlPlanePodsReady', () => {
  it('passes when no pod is unready', () => {
    expect(controlPlanePodsReady(context())).toBeUndefined();
  });

  it('names the pods that are not', () => {
    const unreadyControlPlanePods = { known: true as const, value: ['kube-scheduler-cp1', 'kube-apiserver-cp2'] };

    expect(controlPlanePodsReady(context({ kubernetes: { unreadyControlPlanePods } }))).toEqual({
      reason: 'ControlPlanePodNotReady',
      message: 'not Ready: kube-scheduler-cp1, kube-apiserver-cp2; expected every control plane pod Ready',
    });
  });

  it.each([
    ['was not read', undefined, 'control plane pods: not read'],
    ['could not be read', { known: false as const, why: 'failed' as const, message: '503' }, 'control plane pods: 503'],
  ])('stops where the list %s', (_what, reading, message) => {
    const observation = anObservation();
    const { unreadyControlPlanePods: _gone, ...kubernetes } = observation.kubernetes;
    const changed = reading === undefined ? kubernetes : { ...kubernetes, unreadyControlPlanePods: reading };

    expect(controlPlanePodsReady(contextOf({ ...observation, kubernetes: changed }))).toEqual({
      reason: 'KubernetesUnknown',
      message,
    });
  });
});
