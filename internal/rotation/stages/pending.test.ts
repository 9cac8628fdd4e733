import { describe, expect, it } from 'vitest';
import { ago, anObservation, type ObservationOptions } from '../../../test/builders/rotation.ts';
import { material } from '../../../test/builders/rotation-material.ts';
import { decide } from '../decide.ts';

describe('Pending', () => {
  it('writes the record once everything is checked, before any machine is told', () => {
    expect(decide(anObservation({ stage: 'Pending', targets: ['etcd', 'talos'] }))).toEqual({
      kind: 'act',
      effect: { kind: 'write-record', targets: ['talos', 'etcd'] },
      reason: 'RecordWritten',
      message: 'storing new certificate authorities for talos, etcd',
    });
  });

  it('enters Accepting when the record is there', () => {
    const store = { material: material(['talos']) };

    expect(decide(anObservation({ stage: 'Pending', targets: ['talos'], store }))).toEqual({
      kind: 'act',
      effect: { kind: 'enter-stage', stage: 'Accepting' },
      reason: 'StageProved',
      message: 'Pending is proved on every machine; entering Accepting',
    });
  });

  it('enters it whatever is in the way by now, and at once: Accepting asks for itself, and nobody was told before', () => {
    const observation = anObservation({
      stage: 'Pending',
      targets: ['talos'],
      store: { material: material(['talos']) },
      watchedMs: 1,
      except: { w1: { unknown: 'unreachable' } },
    });

    expect(decide(observation)).toMatchObject({ effect: { kind: 'enter-stage', stage: 'Accepting' } });
  });

  it.each([
    ['where it began', {}, 'Accepting'],
    ['that one machine issues with the new CA', { except: { cp1: { stands: 'Issuing' } } }, 'Issuing'],
    [
      'that one worker has dropped the old one',
      { stands: 'Issuing', except: { w1: { stands: 'Dropping' } } },
      'Dropping',
    ],
    ['that the bundle is replaced', { stands: 'Dropping', store: { bundleReplaced: true } }, 'Finalizing'],
  ] as const)(
    'goes on with the record of an operation that is gone, where the machines show %s',
    (_what, options, stage) => {
      const store = {
        material: material(['talos']),
        adoptedFrom: 'uid-of-before',
        ...('store' in options ? options.store : {}),
      };

      expect(
        decide(anObservation({ stands: 'Before', ...options, stage: 'Pending', targets: ['talos'], store })),
      ).toMatchObject({
        effect: { kind: 'enter-stage', stage },
      });
    },
  );

  it("sends nothing with another one's record until nothing of that one can still land", () => {
    const store = { material: material(['talos']), adoptedFrom: 'uid-of-before' };
    const young = (seconds: number, watchedMs = 90_000) => {
      const observation = anObservation({ stage: 'Pending', targets: ['talos'], store, watchedMs });
      const { operation } = observation;
      return decide({
        ...observation,
        operation: { ...operation, metadata: { ...operation.metadata, creationTimestamp: ago(seconds) } },
      });
    };

    expect(young(89)).toEqual({
      kind: 'wait',
      reason: 'NotQuiescent',
      message:
        'going on with the record of operation uid-of-before, which is gone; waiting until nothing of it can still land',
      recheckAfterMs: 1000,
    });
    expect(young(90)).toMatchObject({ kind: 'act' });
    // Begun by somebody whose clock is behind.
    expect(young(3_600, 89_000)).toMatchObject({ kind: 'wait', recheckAfterMs: 1000 });
  });

  it.each([
    ['while that one is under way', { store: { otherOperations: ['rotate-0'] } }, 'ForeignOperation'],
    ['while nobody knows how far one machine came', { except: { w1: { unknown: 'unreachable' } } }, 'MachineUnknown'],
  ] as const)('does not go on with a record %s', (_what, options, reason) => {
    const store = {
      material: material(['talos']),
      adoptedFrom: 'uid-of-before',
      ...('store' in options ? options.store : {}),
    };

    expect(decide(anObservation({ ...options, stage: 'Pending', targets: ['talos'], store }))).toMatchObject({
      kind: 'blocked',
      reason,
    });
  });

  it('enters nothing with a record that was read back damaged', () => {
    const store = { material: material(['talos']), problems: ['talos: the key does not fit the certificate'] };

    expect(decide(anObservation({ stage: 'Pending', targets: ['talos'], store }))).toEqual({
      kind: 'blocked',
      reason: 'CertificateRefused',
      message: 'talos: the key does not fit the certificate',
      recheckAfterMs: 30_000,
    });
  });

  const refused: [string, ObservationOptions, string, string][] = [
    [
      'two control planes',
      { controlPlanes: 2 },
      'ClusterTransitioning',
      'there are 2 control planes; expected an odd number',
    ],
    [
      'the aggregator CA on Talos 1.13',
      { targets: ['kubernetes-aggregator'], talos: { version: '1.13.2' } },
      'AggregatorUnsupported',
      'cp1 runs Talos 1.13.2; the Kubernetes aggregator CA needs 1.14 or later',
    ],
    [
      'an etcd that is not whole',
      { targets: ['etcd'], except: { cp3: { etcd: { leaderId: undefined } } } },
      'EtcdNotWhole',
      'etcd on cp3 sees no leader',
    ],
    [
      'a control plane that is switched off',
      { except: { cp3: { unknown: 'unreachable' } } },
      'MachineUnknown',
      'cp3 (10.0.0.3): connection refused',
    ],
    [
      'a bundle of another cluster',
      { except: { cp1: { standing: { talos: { stage: 'Foreign', why: 'it holds eeee' } } } } },
      'BundleMismatch',
      'cp1, talos: it holds eeee; expected what secrets.yaml holds',
    ],
    [
      'another operation',
      { store: { otherOperations: ['upgrade-1'] } },
      'ForeignOperation',
      'upgrade-1 is under way on this cluster; expected none beside this one',
    ],
  ];

  it.each(refused)('refuses %s, with nothing written', (_what, options, reason, message) => {
    expect(decide(anObservation({ stage: 'Pending', ...options }))).toEqual({
      kind: 'blocked',
      reason,
      message,
      recheckAfterMs: 30_000,
    });
  });

  it('takes a single control plane', () => {
    expect(decide(anObservation({ stage: 'Pending', controlPlanes: 1, workers: 0 }))).toMatchObject({
      effect: { kind: 'write-record' },
    });
  });
});
