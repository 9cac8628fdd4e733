import type { Fingerprint } from '../../../pkg/pki/index.ts';
import { type ProofInput, proveIssuing, short, type TargetDescriptor } from './descriptor.ts';

/**
 * The etcd CA. Talos has one field for it, so both certificates stand in it, the
 * signing one first. etcd and kube-apiserver read their trust pool at start
 * only, so control planes reboot after a pass (`measured`: two rolls suffice).
 */
export const etcd: TargetDescriptor = {
  name: 'etcd',
  title: 'etcd CA',
  concerns: 'controlplane',
  handOff: false,
  restartsApiServer: false,
  restartsKubelet: false,
  rolled: true,
  workersDropFirst: false,
  minimumTalos: [1, 9],
  tooOld: 'VersionUnsupported',
  prove: (input) => proveTrustFile(input) ?? proveIssuing("etcd's certificate", input.pki.etcdLeafIssuer, input),
  accepted: (pki) => pki.etcdTrusted,
  shown: (pki) => [pki.etcdLeafIssuer],
  issuing: (pki) => pki.etcdLeafIssuer,
  warnings: [
    'Take a snapshot of etcd before you start.',
    'Control planes are drained and rebooted one at a time; a PodDisruptionBudget that allows no disruption holds the rotation.',
  ],
  needs: { Issuing: ['etcdServed'] },
  settle: {},
};

function proveTrustFile({ pki, stage, material }: ProofInput): string | undefined {
  const expected = trustFile(stage, material.old.fingerprint, material.new.fingerprint);
  const same = pki.etcdTrusted.length === expected.length && expected.every((each, i) => pki.etcdTrusted[i] === each);
  if (same) return undefined;
  const found = pki.etcdTrusted.map(short).join(', ') || 'nothing';
  return `etcd's trust file holds ${found}; expected ${expected.map(short).join(', ')} in this order`;
}

function trustFile(stage: ProofInput['stage'], older: Fingerprint, newer: Fingerprint): Fingerprint[] {
  if (stage === 'Accepting') return [older, newer];
  return stage === 'Issuing' ? [newer, older] : [newer];
}
