import { describe, expect, it } from 'vitest';
import type { OperationStatus, TalosOperation } from '../../api/v1alpha1/index.ts';
import { ago, anObservation, anOperation, type ObservationOptions } from '../../test/builders/rotation.ts';
import { decide } from './decide.ts';
import { explain, wordsFor } from './explain.ts';

function withStatus(operation: TalosOperation, status: Partial<OperationStatus>): TalosOperation {
  return { ...operation, status: { ...operation.status, ...status } };
}

describe('explain', () => {
  it('says what is in the way, since when, what to do, and what comes after', () => {
    const observation = anObservation({
      stage: 'Dropping',
      targets: ['etcd'],
      except: { cp3: { talos: { etcdService: { running: true, healthy: false } } } },
    });
    const history: OperationStatus['history'] = [
      { time: ago(900), stage: 'Issuing', reason: 'StageProved', message: 'Issuing is proved on every machine' },
      { time: ago(300), stage: 'Dropping', reason: 'EtcdNotWhole', message: 'etcd on cp3 is not running' },
      { time: ago(60), stage: 'Dropping', reason: 'EtcdNotWhole', message: 'etcd on cp3 is running but not healthy' },
    ];

    expect(explain(withStatus(observation.operation, { history }), decide(observation))).toEqual({
      operation: 'rotate-1',
      stage: 'Dropping',
      state: 'blocked',
      reason: 'EtcdNotWhole',
      message: 'etcd on cp3 is running but not healthy; expected healthy',
      advice:
        'etcd is not whole. Mend the member that the message names; nothing is restarted before. One whose disk was restored must be rebooted once it was told: etcd reads its trust at its start.',
      needsSomebody: true,
      since: '2026-11-05T11:55:00.000Z',
      recheckAfterMs: 30_000,
      next: [
        {
          stage: 'Finalizing',
          summary:
            'replace secrets.yaml; reset what Kubernetes still publishes; prove that old credentials are refused',
        },
      ],
      history,
    });
  });

  it('says what is sent', () => {
    const observation = anObservation({ stands: 'Before' });

    expect(explain(observation.operation, decide(observation))).toMatchObject({
      state: 'acting',
      needsSomebody: false,
      effect: 'give cp1 the configuration of Accepting',
    });
  });

  it('says that the hand-off waits for somebody though nothing is wrong', () => {
    const annotations = { 'ichor.maesh.dev/credentials-handoff': '' };
    const observation = anObservation({ stage: 'AwaitingCredentials', annotations });

    expect(explain(observation.operation, decide(observation))).toMatchObject({
      state: 'waiting',
      needsSomebody: true,
      advice: 'Take the new talosconfig and kubeconfig: ichor cluster credentials --acknowledge.',
    });
  });

  it('names AwaitingCredentials among what comes only where something is handed over', () => {
    const names = (targets: ('etcd' | 'talos')[]) =>
      explain(anOperation({ stage: 'Accepting', targets })).next.map(({ stage }) => stage);

    expect(names(['etcd'])).toEqual(['Issuing', 'Dropping', 'Finalizing']);
    expect(names(['talos', 'etcd'])).toEqual(['AwaitingCredentials', 'Issuing', 'Dropping', 'Finalizing']);
  });

  it.each([
    ['InProgress', 'ProvingMachine', 'waiting', false],
    ['Paused', 'EtcdAlarm', 'blocked', true],
    ['Paused', 'PausedByUser', 'waiting', true],
    ['Completed', 'Completed', 'done', false],
  ] as const)('takes phase %s with %s out of the status alone for %s', (phase, reason, state, needsSomebody) => {
    const operation = withStatus(anOperation(), { phase, reason, message: 'as it was written' });

    expect(explain(operation)).toMatchObject({ state, reason, message: 'as it was written', needsSomebody });
  });

  it('says that it is paused before its process has seen it, or where none runs', () => {
    const operation = withStatus(anOperation({ paused: true }), {
      phase: 'InProgress',
      reason: 'ProvingMachine',
      message: 'cp2: waiting',
    });

    expect(explain(operation)).toMatchObject({
      state: 'waiting',
      reason: 'PausedByUser',
      message: 'paused; before, ProvingMachine: cp2: waiting',
      advice: 'The operation is paused. Go on with ichor operation continue.',
      needsSomebody: true,
    });
  });

  it.each([
    ['Paused', 'EtcdAlarm'],
    ['Completed', 'Completed'],
  ] as const)('lets phase %s with %s stand beside a pause', (phase, reason) => {
    const operation = withStatus(anOperation({ paused: true }), { phase, reason, message: 'as it was written' });

    expect(explain(operation)).toMatchObject({ reason, message: 'as it was written' });
  });

  it('names AwaitingCredentials where nobody has chosen the targets yet', () => {
    const { next } = explain(anOperation({ stage: 'Pending', targets: [] }));

    expect(next.map(({ stage }) => stage)).toContain('AwaitingCredentials');
  });

  it.each<[string, ObservationOptions]>([
    ['while the new CAs are taken back', {}],
    ['once they are let go', { store: { material: undefined } }],
  ])('names nothing that comes after an abandon, %s', (_when, options) => {
    const observation = anObservation({ deleted: true, ...options });

    expect(explain(observation.operation, decide(observation)).next).toEqual([]);
  });

  it('counts since when from the first entry after the last that said something else or stood elsewhere', () => {
    const entry = (seconds: number, stage: 'Issuing' | 'Dropping', reason: 'EtcdNotWhole' | 'NodeNotReady') =>
      ({ time: ago(seconds), stage, reason, message: '' }) as const;
    const since = (...history: OperationStatus['history']) =>
      explain(withStatus(anOperation({ stage: 'Dropping' }), { reason: 'EtcdNotWhole', history })).since;

    expect(since(entry(90, 'Issuing', 'EtcdNotWhole'), entry(60, 'Dropping', 'EtcdNotWhole'))).toBe(ago(60));
    expect(since(entry(90, 'Dropping', 'NodeNotReady'), entry(60, 'Dropping', 'EtcdNotWhole'))).toBe(ago(60));
    expect(since(entry(90, 'Dropping', 'EtcdNotWhole'), entry(60, 'Dropping', 'EtcdNotWhole'))).toBe(ago(90));
  });

  it('does not say since when where the reason is new', () => {
    expect(explain(anOperation())).not.toHaveProperty('since');
  });
});

describe('the words for an effect', () => {
  it.each([
    [
      { kind: 'write-record', targets: ['talos', 'etcd'] },
      'make new certificate authorities for talos, etcd and store them',
    ],
    [{ kind: 'update-status' }, 'write the status; nothing is sent to any machine'],
    [{ kind: 'enter-stage', stage: 'Issuing' }, 'enter Issuing'],
    [{ kind: 'apply-configs', machines: ['w2', 'w3'], stage: 'Issuing' }, 'give w2, w3 the configuration of Issuing'],
    [{ kind: 'apply-config', machine: 'cp1', stage: 'Dropping' }, 'give cp1 the configuration of Dropping'],
    [
      { kind: 'apply-config', machine: 'w1', stage: 'Dropping', targets: ['kubernetes'] },
      'give w1 the configuration of Dropping for kubernetes alone',
    ],
    [
      { kind: 'apply-configs', machines: ['w1', 'w2'], stage: 'Dropping', targets: ['talos', 'kubernetes'] },
      'give w1, w2 the configuration of Dropping for talos, kubernetes alone',
    ],
    [{ kind: 'revert-config', machine: 'cp1', to: 'Before' }, 'take the new certificate authorities back from cp1'],
    [{ kind: 'evacuate', machine: 'cp1' }, 'ask the evacuation hook to move the storage of cp1 away'],
    [{ kind: 'readmit', machine: 'cp1' }, 'ask the evacuation hook to let the storage of cp1 back'],
    [{ kind: 'cordon', machine: 'cp1' }, 'cordon cp1'],
    [{ kind: 'drain', machine: 'cp1' }, 'move pods off cp1'],
    [{ kind: 'forfeit-leadership', machine: 'cp1' }, 'ask cp1 to give up the leadership of etcd'],
    [{ kind: 'reboot', machine: 'cp1' }, 'reboot cp1'],
    [{ kind: 'uncordon', machine: 'cp1' }, 'uncordon cp1'],
    [{ kind: 'replace-bundle' }, 'replace secrets.yaml'],
    [
      { kind: 'reset-authentication', uid: 'u' },
      'delete extension-apiserver-authentication, so that the API servers write it anew',
    ],
    [{ kind: 'restart-workload', owner: 'default/Deployment/web' }, 'restart default/Deployment/web'],
    [{ kind: 'complete' }, 'remove the rotation record and release the operation'],
    [{ kind: 'abandon', uncordon: [] }, 'remove the rotation record and release the operation'],
    [
      { kind: 'abandon', uncordon: ['cp2', 'cp3'] },
      'uncordon cp2, cp3, remove the rotation record and release the operation',
    ],
  ] as const)('%j', (effect, words) => {
    expect(wordsFor(effect)).toBe(words);
  });
});
