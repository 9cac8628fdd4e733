import { describe, expect, it } from 'vitest';
import { anObservation, type ObservationOptions } from '../../../test/builders/rotation.ts';
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
