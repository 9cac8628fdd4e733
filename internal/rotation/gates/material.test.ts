import { describe, expect, it } from 'vitest';
import { anObservation, type ObservationOptions } from '../../../test/builders/rotation.ts';
import { aCertificate, material, print } from '../../../test/builders/rotation-material.ts';
import { contextOf } from '../decide.ts';
import { bundleIsThisClusters } from './bundle-is-this-clusters.ts';
import { certificatesPass } from './certificates-pass.ts';
import { configurationsFit } from './configurations-fit.ts';
import { noForeignConfiguration } from './no-foreign-configuration.ts';
import { noOtherOperation } from './no-other-operation.ts';
import { nothingStaged } from './nothing-staged.ts';
import { recordIsKept } from './record-is-kept.ts';
import { versionsSupported } from './versions-supported.ts';

function context(options: ObservationOptions = {}) {
  return contextOf(anObservation(options));
}

describe('nothingStaged', () => {
  it('passes where the next boot starts with what runs, or a machine does not show with what', () => {
    const except = { w1: { talos: { keptDigest: 'digest-Before' } }, cp2: { unknown: 'unreachable' } } as const;

    expect(nothingStaged(context({ stage: 'Pending', except }))).toBeUndefined();
  });

  it('stops where somebody staged another configuration: it would be met in mid-stage', () => {
    const except = { w1: { talos: { keptDigest: 'staged' } } };

    expect(nothingStaged(context({ stage: 'Pending', except }))).toEqual({
      reason: 'ForeignConfiguration',
      message:
        'w1 keeps another configuration for its next boot than the one that it runs: somebody staged one, or tries one; expected the same',
    });
  });
});

describe('configurationsFit', () => {
  it('passes where every configuration can be changed, and leaves machines that are unknown to the gate that asks for them', () => {
    expect(configurationsFit(context())).toBeUndefined();
    expect(configurationsFit(context({ except: { w1: { unknown: 'unreachable' } } }))).toBeUndefined();
  });

  it('names the machine, the line and the field before anything is begun', () => {
    const except = { w1: { talos: { unfit: 'line 7: machine.acceptedCAs: stands twice' } } } as const;

    expect(configurationsFit(context({ except }))).toEqual({
      reason: 'ConfigurationRefused',
      message: 'w1: its configuration cannot be changed as it is: line 7: machine.acceptedCAs: stands twice',
    });
  });
});

describe('bundleIsThisClusters', () => {
  it('passes when every machine carries what the bundle holds', () => {
    expect(bundleIsThisClusters(context({ stage: 'Pending' }))).toBeUndefined();
  });

  it('stops at a machine of another cluster', () => {
    const standing = {
      talos: { stage: 'Foreign' as const, why: 'the configuration holds eeee; the bundle holds a01d' },
    };

    expect(bundleIsThisClusters(context({ stage: 'Pending', except: { cp2: { standing } } }))).toEqual({
      reason: 'BundleMismatch',
      message: 'cp2, talos: the configuration holds eeee; the bundle holds a01d; expected what secrets.yaml holds',
    });
  });

  it('stops at a machine that an earlier rotation left half-way', () => {
    const standing = { kubernetes: { stage: 'Accepting' as const } };

    expect(bundleIsThisClusters(context({ stage: 'Pending', except: { w1: { standing } } }))).toEqual({
      reason: 'BundleMismatch',
      message: 'w1, kubernetes: it already stands at Accepting; expected what secrets.yaml holds',
    });
  });

  it('does not mind a target that is not rotated', () => {
    const standing = { etcd: { stage: 'Foreign' as const, why: 'another CA' } };

    expect(bundleIsThisClusters(context({ stage: 'Pending', except: { cp1: { standing } } }))).toBeUndefined();
  });

  it('leaves a machine that is unknown to the gate that asks for it', () => {
    const except = { cp1: { unknown: 'unreachable' as const } };

    expect(bundleIsThisClusters(context({ stage: 'Pending', except }))).toBeUndefined();
  });
});

describe('certificatesPass', () => {
  it('says every problem in one message', () => {
    const problems = ['talos: the key does not fit the certificate', 'etcd: it expired on 2026-01-01'];

    expect(certificatesPass(context({ store: { problems } }))).toEqual({
      reason: 'CertificateRefused',
      message: 'talos: the key does not fit the certificate; etcd: it expired on 2026-01-01',
    });
  });
});

describe('noForeignConfiguration', () => {
  const standing = { kubernetes: { stage: 'Foreign' as const, why: 'it accepts eeeeeeeeeeee, which is neither CA' } };

  it('shows what somebody else changed', () => {
    expect(noForeignConfiguration(context({ except: { w1: { standing } } }))).toEqual({
      reason: 'ForeignConfiguration',
      message: 'w1, kubernetes: it accepts eeeeeeeeeeee, which is neither CA',
    });
  });

  it('does not mind a target that is not rotated', () => {
    expect(noForeignConfiguration(context({ targets: ['talos'], except: { w1: { standing } } }))).toBeUndefined();
  });

  it('leaves a machine that is unknown to the gate that asks for it', () => {
    expect(noForeignConfiguration(context({ except: { w1: { unknown: 'unreachable' } } }))).toBeUndefined();
  });
});

describe('noOtherOperation', () => {
  it('names the others', () => {
    expect(noOtherOperation(context({ store: { otherOperations: ['rotate-0', 'upgrade-3'] } }))).toEqual({
      reason: 'ForeignOperation',
      message: 'rotate-0, upgrade-3 is under way on this cluster; expected none beside this one',
    });
  });
});

describe('recordIsKept', () => {
  it.each(['Accepting', 'AwaitingCredentials', 'Issuing', 'Dropping', 'Finalizing'] as const)(
    'stops in %s where the record is gone',
    (stage) => {
      expect(recordIsKept(context({ stage, store: { material: undefined } }))).toEqual({
        reason: 'RecordLost',
        message: `the rotation record is gone in ${stage}; expected the new certificate authorities in it`,
      });
    },
  );

  it('stops at a record with another CA than the rotation began with', () => {
    const changed = { ...material(['talos', 'kubernetes']) };
    changed.kubernetes = { old: aCertificate(print('b01d')), new: aCertificate(print('eeee')) };

    expect(recordIsKept(context({ store: { material: changed } }))).toEqual({
      reason: 'RecordLost',
      message:
        'the rotation record holds eeeeeeeeeeee for kubernetes; expected bfbfbfbfbfbf, which this rotation began with',
    });
  });

  it('stops at a record that lost a target', () => {
    expect(recordIsKept(context({ store: { material: material(['kubernetes']) } }))).toEqual({
      reason: 'RecordLost',
      message: 'the rotation record holds nothing for talos; expected afafafafafaf, which this rotation began with',
    });
  });

  it('asks for no record before one is written', () => {
    expect(recordIsKept(context({ stage: 'Pending' }))).toBeUndefined();
  });
});

describe('versionsSupported', () => {
  it('refuses the aggregator CA below 1.14, where no accepted list exists', () => {
    const except = { cp2: { talos: { version: '1.13.4' } } };

    expect(versionsSupported(context({ targets: ['talos', 'kubernetes-aggregator'], except }))).toEqual({
      reason: 'AggregatorUnsupported',
      message: 'cp2 runs Talos 1.13.4; the Kubernetes aggregator CA needs 1.14 or later',
    });
  });

  it('does not mind an old worker, which holds no aggregator CA', () => {
    const except = { w1: { talos: { version: '1.13.4' } } };

    expect(versionsSupported(context({ targets: ['kubernetes-aggregator'], except }))).toBeUndefined();
  });

  it('leaves a machine that is unknown to the gate that asks for it', () => {
    expect(versionsSupported(context({ except: { w1: { unknown: 'unreachable' } } }))).toBeUndefined();
  });

  it.each(['1.8.3', '0.14.0', 'unknown', 'talos 1.14.1'])('refuses Talos %s', (version) => {
    expect(versionsSupported(context({ targets: ['talos'], except: { w1: { talos: { version } } } }))).toEqual({
      reason: 'VersionUnsupported',
      message: `w1 runs Talos ${version}; the Talos API CA needs 1.9 or later`,
    });
  });

  it.each(['1.9.0', 'v1.14.1', '1.15.0-alpha.0', '2.0.0', '10.1.0'])('takes Talos %s', (version) => {
    expect(versionsSupported(context({ targets: ['talos'], except: { w1: { talos: { version } } } }))).toBeUndefined();
  });
});
