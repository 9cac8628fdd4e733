import { describe, expect, it } from 'vitest';
import type { CaTarget } from '../../api/v1alpha1/index.ts';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { material, OLD } from '../../test/builders/rotation-material.ts';
import { decide } from './decide.ts';

/** A rotation that was deleted a second ago, in Accepting. */
function deleted(options: ObservationOptions = {}) {
  return decide(anObservation({ targets: ['kubernetes'], deleted: true, ...options }));
}

describe('taking the new certificate authorities back', () => {
  it('begins with the first control plane, and remembers what it was like', () => {
    expect(deleted({ controlPlanes: 3, workers: 1 })).toMatchObject({
      kind: 'act',
      effect: { kind: 'revert-config', machine: 'cp1', to: 'Before' },
      reason: 'Reverting',
      message: 'cp1: taking the new certificate authorities back',
    });
  });

  it.each(['Before', 'Accepting', 'Issuing', 'Dropping'] as const)(
    'is not for an operation that has not gone on yet with the record of another one: machines stand at %s',
    (stands) => {
      const store = { material: material(['kubernetes']), adoptedFrom: 'uid-of-before' };

      expect(deleted({ stage: 'Pending', stands, store })).toEqual({
        kind: 'act',
        effect: { kind: 'abandon', uncordon: [], keepsRecord: true },
        reason: 'Abandoning',
        message:
          'abandoned in Pending: the record and everything on the machines is of operation uid-of-before, and stays',
      });
    },
  );

  it('asks for another kube-apiserver of a control plane exactly where going back restarts it', () => {
    const back = (targets: readonly CaTarget[]) => {
      const decision = deleted({ targets });
      return decision.kind === 'act' ? decision.mark?.applied?.at(-1)?.apiServerInstance : decision;
    };

    expect(back(['kubernetes'])).toBe('container-1');
    expect(back(['talos'])).toBeUndefined();
  });

  describe('while a control plane was asked to reboot', () => {
    const asked = (seconds: number, boot = 'boot-1', etcdRebooting = 'cp2', watchedMs = 3_600_000) =>
      deleted({
        watchedMs,
        controlPlanes: 3,
        targets: ['kubernetes', 'etcd'],
        except: { cp2: { boot, node: { bootId: boot } } },
        status: { etcdRebooting, etcdRebootBootID: 'boot-1', etcdRestartedAt: ago(seconds) },
      });

    it('waits for it to go down: nobody else restarts a kube-apiserver meanwhile', () => {
      expect(asked(0)).toEqual({
        kind: 'wait',
        reason: 'RebootingEtcd',
        message: 'taking the new CAs back: cp2 was asked to reboot and is still in boot boot-1',
        recheckAfterMs: 1500,
      });
      expect(asked(299).kind).toBe('wait');
    });

    it('waits as long where only the clock of who asked says that it is over', () => {
      expect(asked(3_600, 'boot-1', 'cp2', 299_000)).toMatchObject({ kind: 'wait', reason: 'RebootingEtcd' });
    });

    it.each([
      ['it is back in another boot', asked(299, 'boot-2')],
      ['it has not heard it for five minutes', asked(300)],
      ['it is not in the list any more', asked(0, 'boot-1', 'cp9')],
    ])('goes on where %s', (_what, decision) => {
      expect(decision).toMatchObject({ effect: { kind: 'revert-config', machine: 'cp1' } });
    });
  });

  it('lets the old CAs issue again everywhere before the new ones are distrusted anywhere', () => {
    const decision = deleted({ stage: 'Issuing', targets: ['talos'], except: { cp1: { stands: 'Accepting' } } });

    expect(decision).toMatchObject({ effect: { kind: 'revert-config', machine: 'cp2', to: 'Accepting' } });
  });

  it('waits for the kube-apiserver of the last control plane before the next is told', () => {
    const told = {
      machine: 'cp1',
      stage: 'Pending',
      bootID: 'boot-1',
      apiServerInstance: 'same',
      appliedAt: ago(5),
    } as const;
    const except = { cp1: { stands: 'Before', instance: 'same' } } as const;

    expect(deleted({ except, status: { applied: [told] } })).toMatchObject({
      kind: 'wait',
      reason: 'Reverting',
      message: 'cp1: waiting for its kube-apiserver to come back with the old certificate authorities',
    });
  });

  it('waits for it also while the one of before runs beside the new one', () => {
    const told = wasTold('cp1', 'Pending', { bootID: 'boot-1', apiServerInstance: 'before', appliedAt: ago(5) });
    const except = { cp1: { stands: 'Before', instance: ['after', 'before'] } } as const;

    expect(deleted({ except, status: { applied: [told] } })).toMatchObject({ kind: 'wait', reason: 'Reverting' });
  });

  it('goes on to the next control plane once that has restarted', () => {
    const told = {
      machine: 'cp1',
      stage: 'Pending',
      bootID: 'boot-1',
      apiServerInstance: 'before',
      appliedAt: ago(5),
    } as const;
    const except = { cp1: { stands: 'Before', instance: 'after' } } as const;

    expect(deleted({ except, status: { applied: [told] } })).toMatchObject({
      effect: { kind: 'revert-config', machine: 'cp2', to: 'Before' },
    });
  });

  it('does not let a machine distrust the new CA while another still shows a certificate of it', () => {
    const except = { w1: { stands: 'Accepting', runs: 'Issuing' } } as const;

    expect(deleted({ stage: 'Issuing', targets: ['talos'], stands: 'Accepting', except })).toMatchObject({
      kind: 'wait',
      reason: 'Reverting',
      message: 'taking the new CAs back: w1 still shows a certificate of the new Talos API CA',
      watch: ['w1'],
    });
  });

  it('goes on where a worker has the list of a control plane that is back already, and shows nothing new', () => {
    const w1 = { stands: 'Accepting', pki: { talosAccepted: [OLD.talos] } } as const;
    const except = { cp1: { stands: 'Before' }, w1 } as const;

    expect(deleted({ targets: ['talos'], stands: 'Accepting', runs: 'Accepting', except })).toMatchObject({
      effect: { kind: 'revert-config', machine: 'cp2', to: 'Before' },
    });
  });

  it('in Issuing does not let a machine distrust the new CA while one that may show a certificate of it cannot be asked', () => {
    const except = { w1: { unknown: 'unreachable' } } as const;
    const at = (stage: 'Accepting' | 'Issuing') =>
      deleted({ stage, targets: ['talos'], stands: 'Accepting', runs: 'Accepting', except });

    expect(at('Issuing')).toMatchObject({ kind: 'wait', reason: 'MachineUnknown' });
    expect(at('Accepting')).toMatchObject({ effect: { kind: 'revert-config', machine: 'cp1', to: 'Before' } });
  });

  it('does not let the new keys go while a machine still trusts their CA', () => {
    const back = { stands: 'Before' } as const;
    const except = { cp1: back, cp2: back, cp3: back, w1: { stands: 'Before', runs: 'Accepting' } } as const;

    expect(deleted({ controlPlanes: 3, workers: 1, except })).toMatchObject({ kind: 'wait', reason: 'Reverting' });
    expect(deleted({ controlPlanes: 3, workers: 1, except: { ...except, w1: back } })).toMatchObject({
      effect: { kind: 'abandon' },
    });
  });

  it('sends nothing where the record is gone: nobody knows what was new', () => {
    expect(deleted({ store: { material: undefined } })).toMatchObject({ effect: { kind: 'abandon' } });
  });

  it('touches nothing while etcd is not whole', () => {
    const except = { cp2: { talos: { etcdService: { running: true, healthy: false } } } };

    expect(deleted({ except })).toMatchObject({ kind: 'wait', reason: 'EtcdNotWhole' });
  });

  it('never changes what somebody else edited', () => {
    const standing = { kubernetes: { stage: 'Foreign', why: 'it accepts a third CA' } } as const;

    expect(deleted({ except: { w1: { standing } }, workers: 1 })).toMatchObject({
      kind: 'wait',
      reason: 'ForeignConfiguration',
    });
  });
});

describe('a machine that cannot be asked, or asked yet, while the new CAs are taken back', () => {
  /** The same look, once nobody is patient any more. */
  function later(options: ObservationOptions) {
    const observation = anObservation({ targets: ['talos'], deleted: true, ...options });
    return decide({ ...observation, now: observation.now + 300_000 });
  }

  it('is waited for by a process that has only begun to look, whatever its clock says of the deletion', () => {
    const except = { w1: { unknown: 'unreachable' } } as const;

    expect(later({ stands: 'Before', except, watchedMs: -1 })).toMatchObject({
      kind: 'wait',
      reason: 'MachineUnknown',
    });
    expect(later({ stands: 'Before', except, watchedMs: 0 })).toMatchObject({ effect: { kind: 'abandon' } });
  });

  it('is waited for where no machine could be listed: an empty list is no cluster without machines', () => {
    const unlisted = { machines: [], machinesIncomplete: 'no API server listed the Nodes' } as const;

    expect(deleted(unlisted)).toMatchObject({
      kind: 'wait',
      reason: 'MachineListIncomplete',
      message: 'no API server listed the Nodes',
    });
    expect(later(unlisted)).toMatchObject({
      effect: { kind: 'abandon' },
      message:
        'abandoned in Accepting: the old certificate authorities still issue everything; machines that could not be listed may still trust the new ones',
    });
  });

  it('is waited for where all the others are back', () => {
    const except = { w1: { unknown: 'unreachable' } } as const;

    expect(deleted({ stands: 'Before', except })).toMatchObject({ kind: 'wait', reason: 'MachineUnknown' });
    expect(later({ stands: 'Before', except })).toMatchObject({
      effect: { kind: 'abandon' },
      message:
        'abandoned in Accepting: the old certificate authorities still issue everything; w1 may still trust the new ones',
    });
  });

  it.each<[string, ObservationOptions, string]>([
    [
      'is in the way of others that stand at Accepting',
      { except: { cp2: { talos: { etcdService: { running: true, healthy: false } } } } },
      'taking the new CAs back: etcd on cp2 is running but not healthy; expected healthy; the new keys are kept, because cp1 still trusts their CA',
    ],
    [
      'was changed by somebody else',
      {
        stands: 'Before',
        except: { w1: { standing: { talos: { stage: 'Foreign', why: 'a third CA' } }, runs: 'Accepting' } },
      },
      'w1: apid accepts',
    ],
    [
      'does not answer beside one that does and trusts them',
      { except: { w1: { unknown: 'unreachable' }, cp1: { node: { ready: false } } } },
      'cp1 still trusts their CA',
    ],
  ])('keeps the new keys for ever while one that answers trusts their CA: where it %s', (_what, options, said) => {
    const decision = later(options);

    expect(decision).toMatchObject({ kind: 'blocked', recheckAfterMs: 30_000 });
    expect(decision.message).toContain(said);
    expect(decision.message).toMatch(/; the new keys are kept, because \w+ still trusts their CA$/);
  });

  it.each<[string, ObservationOptions]>([
    ['no machine could be listed', { machines: [], machinesIncomplete: 'no API server listed the Nodes' }],
    ['one does not answer', { stands: 'Before', except: { w1: { unknown: 'unreachable' } } }],
    ['a Node of another one is not Ready', { except: { w1: { stands: 'Before', node: { ready: false } } } }],
    ['one was told and does not follow', { stands: 'Accepting', except: { w1: { runs: 'Issuing' } } }],
  ])('keeps the new keys for ever where it may issue with them: in Issuing, where %s', (_what, options) => {
    const decision = later({ stage: 'Issuing', ...options });

    expect(decision).toMatchObject({ kind: 'blocked', recheckAfterMs: 30_000 });
    expect(decision.message).toMatch(/; the new keys are kept, because a machine may still issue with them$/);
  });

  it('keeps them whatever the status says where a configuration issues with them', () => {
    const except = { cp1: { stands: 'Issuing', runs: 'Accepting' }, w1: { node: { ready: false } } } as const;

    expect(later({ stage: 'Accepting', except })).toMatchObject({
      kind: 'blocked',
      reason: 'NodeNotReady',
      message: expect.stringMatching(/; the new keys are kept, because a machine may still issue with them$/),
    });
  });

  it('keeps them whatever the status says where one still shows a certificate of a new CA', () => {
    expect(later({ stage: 'Accepting', stands: 'Before', except: { w1: { runs: 'Issuing' } } })).toMatchObject({
      kind: 'blocked',
      reason: 'Reverting',
      message: expect.stringMatching(/^w1: .*; the new keys are kept, because a machine may still issue with them$/),
    });
  });

  it('says that they are trusted, and not that they may issue, where all of Issuing is seen to be taken back', () => {
    const except = { w1: { node: { ready: false, readyMessage: 'no heartbeat' } } };

    expect(later({ stage: 'Issuing', stands: 'Accepting', except })).toMatchObject({
      kind: 'blocked',
      message:
        'taking the new CAs back: Node w1: no heartbeat; expected Ready; the new keys are kept, because cp1 still trusts their CA',
    });
  });

  it('is let go in Issuing where all are back, though a kube-apiserver does not come up again', () => {
    const status = { applied: [wasTold('cp1', 'Pending', { bootID: 'boot-1', apiServerInstance: 'before' })] };
    const except = { cp1: { instance: [], apiServer: 'connection refused' } };
    const back = { stage: 'Issuing', targets: ['kubernetes-aggregator'], stands: 'Before', status, except } as const;

    expect(deleted(back)).toMatchObject({
      message: 'cp1: waiting for its kube-apiserver to come back with the old certificate authorities',
    });
    expect(later(back)).toMatchObject({ effect: { kind: 'abandon' } });
  });

  it('is waited for until five minutes after the deletion, and named with all others of its kind after them', () => {
    const observation = anObservation({
      targets: ['talos'],
      deleted: true,
      stands: 'Before',
      workers: 3,
      except: { w1: { unknown: 'unreachable' }, w3: { unknown: 'unreachable' } },
    });
    // It was deleted a second before that.
    const at = (seconds: number) => decide({ ...observation, now: observation.now + (seconds - 1) * 1000 });

    expect(at(299.999)).toMatchObject({ kind: 'wait', reason: 'MachineUnknown' });
    expect(at(300)).toMatchObject({
      effect: { kind: 'abandon' },
      message:
        'abandoned in Accepting: the old certificate authorities still issue everything; w1, w3 may still trust the new ones',
    });
  });

  it('is told only while one kube-apiserver runs on it', () => {
    const except = { cp1: { instance: ['ending', 'running'] } } as const;

    expect(deleted({ except })).toMatchObject({ kind: 'wait', reason: 'ApiServerNotReady' });
  });
});
