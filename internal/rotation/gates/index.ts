import type { Context, Gate } from '../context.ts';
import { apiServersReady } from './api-servers-ready.ts';
import { bundleIsThisClusters } from './bundle-is-this-clusters.ts';
import { certificatesPass } from './certificates-pass.ts';
import { clocksAgree } from './clocks-agree.ts';
import { configurationsFit } from './configurations-fit.ts';
import { controlPlanePodsReady } from './control-plane-pods-ready.ts';
import { etcdIsWhole } from './etcd-is-whole.ts';
import { etcdKeepsQuorum } from './etcd-keeps-quorum.ts';
import { etcdPkiLoaded } from './etcd-pki-loaded.ts';
import { everyMachineKnown } from './every-machine-known.ts';
import { everyMachineListed } from './every-machine-listed.ts';
import { noForeignConfiguration } from './no-foreign-configuration.ts';
import { noOtherOperation } from './no-other-operation.ts';
import { nobodyCordoned } from './nobody-cordoned.ts';
import { nodesReady } from './nodes-ready.ts';
import { nothingStaged } from './nothing-staged.ts';
import { versionsSupported } from './versions-supported.ts';

/** Asked before anything is written. */
export const PREFLIGHT: readonly Gate[] = [
  noOtherOperation,
  everyMachineKnown,
  everyMachineListed,
  etcdKeepsQuorum,
  versionsSupported,
  certificatesPass,
  bundleIsThisClusters,
  configurationsFit,
  nothingStaged,
  etcdIsWhole,
  apiServersReady,
  nodesReady,
  nobodyCordoned,
  clocksAgree,
];

/** Asked in place of these before a rotation goes on with the record of an operation that is gone: machines stand anywhere. */
const ADOPTION: readonly Gate[] = [noOtherOperation, everyMachineKnown];

/** What is asked before this rotation begins. */
export function gatesOfStart({ observation }: Context): readonly Gate[] {
  return observation.store.material === undefined ? PREFLIGHT : ADOPTION;
}

/** Asked before a machine is told anything, and before a stage is left. */
export const BEFORE_CHANGE: readonly Gate[] = [
  everyMachineKnown,
  noForeignConfiguration,
  etcdIsWhole,
  apiServersReady,
  nodesReady,
];

/** Asked before a new CA is taken back from a machine. A machine that does not answer must not hold an abandoned rotation for ever. */
export const TAKING_BACK: readonly Gate[] = [noForeignConfiguration, etcdIsWhole, apiServersReady, nodesReady];

/** Asked before a control plane is rebooted. */
export const BEFORE_REBOOT: readonly Gate[] = [...BEFORE_CHANGE, nobodyCordoned, etcdKeepsQuorum, etcdPkiLoaded];

/** Asked before a control plane that has rebooted is called back: letting pods on it again costs no quorum. */
export const AFTER_REBOOT: readonly Gate[] = [...BEFORE_CHANGE, etcdPkiLoaded];

/** Asked before a stage counts as proved. */
export const STAGE_PROVED: readonly Gate[] = [...BEFORE_CHANGE, everyMachineListed, controlPlanePodsReady];

/** What each gate asks, as the plan says it. */
export const GATE_TEXTS: ReadonlyMap<Gate, string> = new Map([
  [noOtherOperation, 'no other operation is under way on this cluster'],
  [everyMachineKnown, 'every machine answers, and the list of machines is complete'],
  [everyMachineListed, 'no machine that discovery names is without a Node'],
  [etcdKeepsQuorum, 'the number of control planes is odd'],
  [versionsSupported, 'every machine runs a Talos that can do it'],
  [certificatesPass, 'old and new certificate authorities pass every check'],
  [bundleIsThisClusters, 'every machine carries what secrets.yaml holds'],
  [configurationsFit, 'every configuration can be changed'],
  [nothingStaged, 'every machine runs the configuration that it keeps for its next boot'],
  [noForeignConfiguration, 'nobody else changed a configuration'],
  [etcdIsWhole, 'etcd is whole: every member healthy, a leader, one voter for each control plane, no alarm'],
  [apiServersReady, 'every kube-apiserver is ready on its own machine'],
  [nodesReady, 'every Node is Ready in the boot that its machine reports'],
  [nobodyCordoned, 'nobody else has cordoned another control plane'],
  [clocksAgree, 'the clock of every machine agrees with that of this host'],
  [etcdPkiLoaded, "every control plane holds the stage's etcd certificates"],
  [controlPlanePodsReady, 'every control plane pod is Ready'],
]);
