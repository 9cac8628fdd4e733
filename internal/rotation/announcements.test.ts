import { describe, expect, it } from 'vitest';
import { announcementsOf } from './announcements.ts';
import type { Decision } from './decision.ts';

describe('announcementsOf', () => {
  it('tells the Node of a machine what is done to it', () => {
    const decision: Decision = {
      kind: 'act',
      effect: { kind: 'forfeit-leadership', machine: 'cp1' },
      reason: 'RebootingEtcd',
      message: 'cp1 leads etcd; asking it to hand over before its reboot',
    };

    expect(announcementsOf(decision, 'Accepting')).toEqual([
      {
        regarding: { kind: 'Node', name: 'cp1' },
        type: 'Normal',
        reason: 'RebootingEtcd',
        action: 'ForfeitLeadership',
        note: 'cp1 leads etcd; asking it to hand over before its reboot',
      },
    ]);
  });

  it('tells every worker of a batch', () => {
    const decision: Decision = {
      kind: 'act',
      effect: { kind: 'apply-configs', machines: ['w2', 'w3'], stage: 'Issuing' },
      reason: 'ApplyingConfiguration',
      message: 'applying the configuration of Issuing to w2, w3',
    };

    expect(announcementsOf(decision, 'Issuing').map(({ regarding, action }) => [regarding.name, action])).toEqual([
      ['w2', 'ApplyConfigs'],
      ['w3', 'ApplyConfigs'],
    ]);
  });

  it.each([
    [
      { kind: 'enter-stage', stage: 'Issuing' },
      'EnterStage',
      'the rotation of certificate authorities is in Issuing: said',
    ],
    [{ kind: 'complete' }, 'Complete', 'said'],
    [{ kind: 'abandon', uncordon: [] }, 'Abandon', 'said'],
    [{ kind: 'restart-workload', owner: 'default/Deployment/web' }, 'RestartWorkload', 'said'],
    [{ kind: 'reset-authentication', uid: 'u' }, 'ResetAuthentication', 'said'],
  ] as const)('tells the cluster: %j', (effect, action, note) => {
    const decision: Decision = { kind: 'act', effect, reason: 'StageProved', message: 'said' };

    expect(announcementsOf(decision, 'Issuing')).toEqual([
      {
        regarding: { kind: 'Namespace', name: 'kube-system' },
        type: 'Normal',
        reason: 'StageProved',
        action,
        note,
      },
    ]);
  });

  it.each([
    { kind: 'blocked', reason: 'EtcdNotWhole', message: 'said', recheckAfterMs: 30_000 },
    { kind: 'wait', reason: 'CallFailed', message: 'said', recheckAfterMs: 2_000 },
  ] as const)('warns the cluster of what holds the rotation up: $kind, $reason', (decision) => {
    expect(announcementsOf(decision as Decision, 'Accepting')).toEqual([
      {
        regarding: { kind: 'Namespace', name: 'kube-system' },
        type: 'Warning',
        reason: decision.reason,
        action: 'Wait',
        note: 'said',
      },
    ]);
  });

  it.each([
    { kind: 'wait', reason: 'DrainingControlPlane', message: 'said', recheckAfterMs: 1_500 },
    { kind: 'done', reason: 'Completed', message: 'said' },
    { kind: 'act', effect: { kind: 'update-status' }, reason: 'DrainingControlPlane', message: 'said' },
    { kind: 'act', effect: { kind: 'write-record', targets: ['etcd'] }, reason: 'StageProved', message: 'said' },
    { kind: 'act', effect: { kind: 'replace-bundle' }, reason: 'StageProved', message: 'said' },
  ] as const)('says nothing of what goes on by itself or concerns the store alone: $kind $reason', (decision) => {
    expect(announcementsOf(decision as Decision, 'Accepting')).toEqual([]);
  });
});
