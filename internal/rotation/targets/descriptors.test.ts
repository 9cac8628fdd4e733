import { describe, expect, it } from 'vitest';
import { CA_TARGETS, type CaTarget } from '../../../api/v1alpha1/index.ts';
import { pkiAt } from '../../../test/builders/machine.ts';
import { anObservation } from '../../../test/builders/rotation.ts';
import { material, NEW, OLD, print } from '../../../test/builders/rotation-material.ts';
import { contextOf } from '../decide.ts';
import { versionsSupported } from '../gates/versions-supported.ts';
import type { PkiReading } from '../observation.ts';
import { TARGETS } from './index.ts';

/** What a control plane that stands at the stage is found with instead, for one target. */
function prove(target: CaTarget, stage: 'Accepting' | 'Issuing' | 'Dropping', pki: Partial<PkiReading>) {
  const of = material([target])[target];
  if (of === undefined) throw new Error(`${target} has material`);
  return TARGETS[target].prove({
    pki: { ...pkiAt(stage, [target]), ...pki },
    role: 'controlplane',
    stage,
    material: of,
  });
}

describe("etcd's trust file", () => {
  const other = print('eeee');

  it.each([
    ['Accepting', [OLD.etcd, other]],
    ['Accepting', [other, NEW.etcd]],
    ['Accepting', [NEW.etcd, OLD.etcd]],
    ['Accepting', [OLD.etcd, NEW.etcd, other]],
    ['Issuing', [OLD.etcd, NEW.etcd]],
    ['Dropping', [other]],
    ['Dropping', []],
  ] as const)('is not proved in %s with anything but what belongs there, in its order: %j', (stage, etcdTrusted) => {
    expect(prove('etcd', stage, { etcdTrusted })).toMatch(/^etcd's trust file holds .*; expected .* in this order$/);
  });

  it.each(['Accepting', 'Issuing', 'Dropping'] as const)('is proved in %s with what belongs there', (stage) => {
    expect(prove('etcd', stage, {})).toBeUndefined();
  });

  it('is said to hold nothing where it does', () => {
    expect(prove('etcd', 'Dropping', { etcdTrusted: [] })).toBe(
      "etcd's trust file holds nothing; expected cfcfcfcfcfcf in this order",
    );
  });
});

describe('a target', () => {
  // A control plane in Issuing: both CAs are accepted, the new one issues.
  it.each([
    ['talos', [OLD.talos, NEW.talos], [NEW.talos, NEW.talos], NEW.talos],
    ['kubernetes', [OLD.kubernetes, NEW.kubernetes], [NEW.kubernetes], NEW.kubernetes],
    ['etcd', [NEW.etcd, OLD.etcd], [NEW.etcd], NEW.etcd],
    [
      'kubernetes-aggregator',
      [OLD['kubernetes-aggregator'], NEW['kubernetes-aggregator']],
      [NEW['kubernetes-aggregator']],
      NEW['kubernetes-aggregator'],
    ],
  ] as const)('%s reads its own CAs and nobody else’s', (target, accepted, shown, issuing) => {
    const pki = pkiAt('Issuing', [target]);

    expect(TARGETS[target].accepted(pki)).toEqual(accepted);
    expect(TARGETS[target].shown(pki)).toEqual(shown);
    expect(TARGETS[target].issuing(pki)).toBe(issuing);
  });

  it.each([
    ['talos', { restartsApiServer: false, restartsKubelet: false, rolled: false, workersDropFirst: false }],
    ['kubernetes', { restartsApiServer: true, restartsKubelet: true, rolled: false, workersDropFirst: true }],
    ['etcd', { restartsApiServer: false, restartsKubelet: false, rolled: true, workersDropFirst: false }],
    [
      'kubernetes-aggregator',
      { restartsApiServer: true, restartsKubelet: false, rolled: false, workersDropFirst: false },
    ],
  ] as const)('%s costs what Talos does for it: %j', (target, cost) => {
    expect(TARGETS[target]).toMatchObject(cost);
  });

  it('kubernetes says which credentials end', () => {
    expect(TARGETS.kubernetes.warnings).toContain(
      'Every kubeconfig with a certificate of the old CA stops working in Dropping; the new one is handed over before.',
    );
  });

  it('is said to accept nothing where a machine does', () => {
    expect(prove('talos', 'Issuing', { talosAccepted: [] })).toBe(
      'apid accepts nothing; expected a01da01da01d and afafafafafaf',
    );
  });
});

describe('a CA that issues', () => {
  it('is said to be none where a machine names none', () => {
    const { kubernetesIssuing: _gone, ...pki } = pkiAt('Issuing', ['kubernetes']);
    const of = material(['kubernetes']).kubernetes;
    if (of === undefined) throw new Error('kubernetes has material');

    expect(TARGETS.kubernetes.prove({ pki, role: 'controlplane', stage: 'Issuing', material: of })).toBe(
      'the Kubernetes API is issued by nothing; expected bfbfbfbfbfbf',
    );
  });
});

describe('a machine with a Talos that is too old', () => {
  it.each([
    ['talos', '1.8.4', 'VersionUnsupported', 'cp1 runs Talos 1.8.4; the Talos API CA needs 1.9 or later'],
    ['kubernetes', '1.8.4', 'VersionUnsupported', 'cp1 runs Talos 1.8.4; the Kubernetes API CA needs 1.9 or later'],
    ['etcd', '1.8.4', 'VersionUnsupported', 'cp1 runs Talos 1.8.4; the etcd CA needs 1.9 or later'],
    [
      'kubernetes-aggregator',
      '1.13.9',
      'AggregatorUnsupported',
      'cp1 runs Talos 1.13.9; the Kubernetes aggregator CA needs 1.14 or later',
    ],
  ] as const)('is refused for %s at %s', (target, version, reason, message) => {
    const context = contextOf(anObservation({ stage: 'Pending', targets: [target], talos: { version } }));

    expect(versionsSupported(context)).toEqual({ reason, message });
  });

  it.each(CA_TARGETS)('is not found for %s at 1.14.1', (target) => {
    expect(versionsSupported(contextOf(anObservation({ stage: 'Pending', targets: [target] })))).toBeUndefined();
  });
});
