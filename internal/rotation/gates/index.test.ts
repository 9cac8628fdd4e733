import { describe, expect, it } from 'vitest';
import type { ObservationOptions } from '../../../test/builders/rotation.ts';
import { anObservation } from '../../../test/builders/rotation.ts';
import { firstBlocker } from '../context.ts';
import { contextOf } from '../decide.ts';
import { AFTER_REBOOT, BEFORE_CHANGE, BEFORE_REBOOT, PREFLIGHT, STAGE_PROVED } from './index.ts';

/** Everything wrong at once; mending one thing after the other shows the order in which the gates are asked. */
const WRONG: Readonly<Record<string, ObservationOptions>> = {
  ForeignOperation: { store: { otherOperations: ['rotate-0'] } },
  MachineUnknown: { except: { w2: { unknown: 'unreachable' } } },
  MachineListIncomplete: { unlisted: { known: true, value: [{ name: 'w9', address: '10.0.0.9', answers: true }] } },
  ClusterTransitioning: { controlPlanes: 2 },
  AggregatorUnsupported: { talos: { version: '1.13.0' } },
  CertificateRefused: { store: { problems: ['talos: it is no CA'] } },
  BundleMismatch: { standing: { talos: { stage: 'Foreign', why: 'another CA' } } },
  ConfigurationRefused: { talos: { unfit: 'line 3: machine.type: is not there' } },
  StagedConfiguration: { except: { cp3: { talos: { keptDigest: 'staged' } } } },
  ForeignConfiguration: { standing: { talos: { stage: 'Foreign', why: 'another CA' } } },
  EtcdNotWhole: { etcd: { leaderId: undefined } },
  ApiServerNotReady: { apiServer: 'failing: etcd' },
  NodeNotReady: { node: { ready: false } },
  ClocksDisagree: { except: { w1: { node: { clockAheadMs: 3_600_000 } } } },
  ControlPlaneCordoned: { except: { cp2: { node: { cordoned: true } } } },
  EtcdPkiNotLoaded: { pki: { etcdTrusted: [] } },
  ControlPlanePodNotReady: { kubernetes: { unreadyControlPlanePods: { known: true, value: ['kube-scheduler-cp1'] } } },
};

/** What is said first while everything from `from` on is wrong. */
function firstReasons(
  gates: Parameters<typeof firstBlocker>[0],
  stage: 'Pending' | 'Accepting',
  names: readonly string[],
) {
  return names.map((_, from) => {
    const wrong = names.slice(from).map((name) => WRONG[name] ?? {});
    const store = Object.assign({}, ...wrong.map((each) => each.store ?? {})) as ObservationOptions['store'] & object;
    const talos = Object.assign({}, ...wrong.map((each) => each.talos ?? {})) as ObservationOptions['talos'] & object;
    const except = Object.assign({}, ...wrong.map((each) => each.except ?? {})) as ObservationOptions['except'] &
      object;
    const merged: ObservationOptions = Object.assign(
      { stage, workers: 2, targets: ['talos', 'etcd', 'kubernetes-aggregator'] },
      ...wrong,
      { store, except, talos },
    );
    return firstBlocker(gates, contextOf(anObservation(merged)))?.reason;
  });
}

describe('the gates in their order', () => {
  it('before anything is written', () => {
    const order = [
      'ForeignOperation',
      'MachineUnknown',
      'MachineListIncomplete',
      'ClusterTransitioning',
      'AggregatorUnsupported',
      'CertificateRefused',
      'BundleMismatch',
      'ConfigurationRefused',
      'StagedConfiguration',
      'EtcdNotWhole',
      'ApiServerNotReady',
      'NodeNotReady',
      'ControlPlaneCordoned',
      'ClocksDisagree',
    ];
    const reasons = order.map((each) => (each === 'StagedConfiguration' ? 'ForeignConfiguration' : each));

    expect(firstReasons(PREFLIGHT, 'Pending', order)).toEqual(reasons);
  });

  const change = ['MachineUnknown', 'ForeignConfiguration', 'EtcdNotWhole', 'ApiServerNotReady', 'NodeNotReady'];

  it('before a machine is told anything', () => {
    expect(firstReasons(BEFORE_CHANGE, 'Accepting', change)).toEqual(change);
  });

  it('before a control plane is rebooted', () => {
    const order = [...change, 'ControlPlaneCordoned', 'ClusterTransitioning', 'EtcdPkiNotLoaded'];

    expect(firstReasons(BEFORE_REBOOT, 'Accepting', order)).toEqual(order);
  });

  it('before a control plane is called back, which costs no quorum', () => {
    const order = [...change, 'EtcdPkiNotLoaded'];

    expect(firstReasons(AFTER_REBOOT, 'Accepting', order)).toEqual(order);
  });

  it('before a stage is left', () => {
    const order = [...change, 'MachineListIncomplete', 'ControlPlanePodNotReady'];

    expect(firstReasons(STAGE_PROVED, 'Accepting', order)).toEqual(order);
  });
});
