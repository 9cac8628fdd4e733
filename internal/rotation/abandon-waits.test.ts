import { describe, expect, it } from 'vitest';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { decide } from './decide.ts';

/** A rotation that was deleted a second ago, in Accepting. */
function deleted(options: ObservationOptions = {}) {
  return decide(anObservation({ targets: ['kubernetes'], deleted: true, ...options }));
}

const UNCORDON_NOBODY = { kind: 'abandon', uncordon: [] };

describe('taking the new certificate authorities back from a machine', () => {
  it('remembers its boot and its kube-apiserver, under the stage to which it goes back', () => {
    const decision = deleted({ controlPlanes: 1, workers: 0, except: { cp1: { boot: 'boot-7', instance: 'now' } } });

    expect(decision).toMatchObject({
      effect: { kind: 'revert-config', machine: 'cp1' },
      mark: {
        applied: [
          {
            machine: 'cp1',
            stage: 'Pending',
            bootID: 'boot-7',
            apiServerInstance: 'now',
            appliedAt: '2026-11-05T12:00:00.000Z',
          },
        ],
      },
    });
  });

  it('goes one stage back where any target is further on', () => {
    const standing = { talos: { stage: 'Issuing' as const } };

    expect(deleted({ targets: ['talos', 'kubernetes'], except: { w1: { standing } } })).toMatchObject({
      effect: { kind: 'revert-config', machine: 'w1', to: 'Accepting' },
    });
  });

  it('is not kept by one that has gone a stage back and still shows a certificate of the new CA', () => {
    const except = { cp1: { stands: 'Accepting', runs: 'Issuing' } } as const;

    expect(deleted({ stage: 'Issuing', targets: ['talos'], except })).toMatchObject({
      effect: { kind: 'revert-config', machine: 'cp2', to: 'Accepting' },
    });
  });

  it('is not kept by a worker that does not answer', () => {
    expect(deleted({ except: { w1: { unknown: 'unreachable' } } })).toMatchObject({
      effect: { kind: 'revert-config', machine: 'cp1', to: 'Before' },
    });
  });
});

describe('a machine whose configuration is back', () => {
  const back = { stands: 'Before' } as const;

  it('holds the new keys while it trusts their CA, and says what is found', () => {
    const except = { cp2: { stands: 'Before', runs: 'Accepting' } } as const;

    expect(deleted({ targets: ['etcd'], ...back, except })).toMatchObject({
      kind: 'wait',
      reason: 'Reverting',
      message: expect.stringMatching(/^cp2: etcd's trust file holds \w{12}, \w{12}; expected \w{12} in this order$/),
      watch: ['cp2'],
    });
  });

  it('that is a worker is not asked what only control planes hold', () => {
    expect(deleted({ targets: ['etcd'], ...back })).toMatchObject({
      effect: UNCORDON_NOBODY,
      message: 'abandoned in Accepting: the old certificate authorities still issue everything',
    });
  });

  const told = (
    overrides: Parameters<typeof wasTold>[2] = {},
    machine = 'cp1',
    stage: 'Pending' | 'Accepting' = 'Pending',
  ) => wasTold(machine, stage, { bootID: 'boot-1', apiServerInstance: 'before', appliedAt: ago(5), ...overrides });
  const waiting = {
    kind: 'wait',
    reason: 'Reverting',
    message: 'cp1: waiting for its kube-apiserver to come back with the old certificate authorities',
    watch: ['cp1'],
  };

  it.each<[string, NonNullable<ObservationOptions['except']>]>([
    ['does not answer /readyz', { cp1: { instance: 'after', apiServer: 'failing: etcd' } }],
    ['is the one of before', { cp1: { instance: 'before' } }],
  ])('is waited for while its kube-apiserver %s', (_how, except) => {
    expect(deleted({ ...back, except, status: { applied: [told()] } })).toMatchObject(waiting);
  });

  it('is waited for while nobody has asked its kube-apiserver', () => {
    const observation = anObservation({
      ...back,
      targets: ['kubernetes'],
      deleted: true,
      status: { applied: [told()] },
    });
    const machines = observation.machines.map(({ apiServer, ...machine }) =>
      machine.name === 'cp1' || apiServer === undefined ? machine : { ...machine, apiServer },
    );

    expect(decide({ ...observation, machines })).toMatchObject(waiting);
  });

  it.each<[string, ObservationOptions]>([
    ['has rebooted since', { status: { applied: [told({ bootID: 'boot-0' })] } }],
    ['was last told something in the rotation itself', { status: { applied: [told({}, 'cp1', 'Accepting')] } }],
    ['is a worker, which has none', { status: { applied: [told({ bootID: 'boot-1' }, 'w1')] } }],
    ['was told what restarts none', { targets: ['talos'], status: { applied: [told()] } }],
  ])('is not waited for with its kube-apiserver where it %s', (_why, options) => {
    const except = { cp1: { instance: 'before' } };

    expect(deleted({ ...back, except, ...options })).toMatchObject({ effect: UNCORDON_NOBODY });
  });

  it('is told again where it has refused, and not waited for: its kube-apiserver goes on', () => {
    const except = { cp1: { stands: 'Accepting', instance: 'before' } } as const;

    expect(deleted({ ...back, except, status: { applied: [told()] } })).toMatchObject({
      effect: { kind: 'revert-config', machine: 'cp1', to: 'Before' },
    });
  });

  it('is not taken for another one that was told', () => {
    const except = { cp1: { instance: 'before' }, cp2: { instance: 'before' } };

    expect(deleted({ ...back, except, status: { applied: [told({}, 'cp2')] } })).toMatchObject({
      message: 'cp2: waiting for its kube-apiserver to come back with the old certificate authorities',
    });
  });
});

describe('letting a rotation go', () => {
  const gone = { store: { material: undefined } };

  it('uncordons in the order of names whoever it cordoned, was draining or rebooting', () => {
    const except = { cp2: { node: { cordoned: true, cordonedByUs: true } }, w1: { node: 'none' } } as const;
    const status = { etcdDraining: 'cp3', etcdRebooting: 'cp1' };

    expect(deleted({ ...gone, except, status })).toMatchObject({
      effect: { kind: 'abandon', uncordon: ['cp1', 'cp2', 'cp3'] },
    });
  });

  it('names nobody who may still trust the new CAs where nobody knows what was new', () => {
    expect(deleted({ ...gone, except: { w1: { unknown: 'unreachable' } } })).toMatchObject({
      message: 'abandoned in Accepting: the old certificate authorities still issue everything',
    });
  });
});
