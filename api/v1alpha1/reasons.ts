/**
 * Why an operation stands where it stands: a closed union, so that an unknown
 * reason does not compile. The text is what `ichor operation explain` says a
 * person can do about it.
 */
export const REASONS = {
  // Preflight.
  ClusterTransitioning: 'An even number of control planes tolerates no loss. Add or remove one, then start again.',
  AggregatorUnsupported:
    'Talos before 1.14 has no accepted list for the aggregator CA. Upgrade, or leave the target out.',
  VersionUnsupported: 'The machine runs a Talos version that Ichor was not proved on. Upgrade it first.',
  CertificateRefused: 'A certificate authority did not pass the checks. The message names it and why.',
  BundleMismatch: 'secrets.yaml is not the bundle of this cluster. Find the right file; nothing was changed.',
  ConfigurationRefused:
    'The configuration of a machine has a fault for which it could not be changed later. Mend the field that the message names; nothing was changed.',
  ClocksDisagree:
    'The clocks of a machine and of this host differ: certificates would not be valid yet for one of them. Set the one that is wrong (talosctl time shows the one of a machine), then start again.',
  RecordLost:
    'The rotation record is gone or was changed. Put back the one that this rotation began with; until then no machine is told anything.',
  ForeignOperation: 'Another operation is under way on this cluster. Wait for it, or delete it.',
  // Reading.
  MachineUnknown: 'The machine does not answer. Power it on, mend its network, or remove it from Kubernetes and etcd.',
  MachineUntrusted:
    'The machine refuses our certificate, or shows one that no known CA signed. Compare the fingerprints.',
  MachineInMaintenance:
    'The machine waits for its first configuration. Configure it from the current bundle, or remove it.',
  MachineListIncomplete:
    'Kubernetes, etcd and discovery disagree about which machines there are. Wait, or remove what is gone. A machine without a Node (skipNodeRegistration) cannot be told: let it register, or take it out of the cluster.',
  KubernetesUnknown: 'No API server answers. Look at the control planes; nothing is done without it.',
  // Gates.
  EtcdNotWhole:
    'etcd is not whole. Mend the member that the message names; nothing is restarted before. One whose disk was restored must be rebooted once it was told: etcd reads its trust at its start.',
  EtcdAlarm: 'etcd raised an alarm. Free space or mend the member, then disarm it with talosctl etcd alarm disarm.',
  EtcdPkiNotLoaded:
    'The machine has not loaded the certificates of this stage. See its controller log (talosctl dmesg).',
  ApiServerNotReady: 'A kube-apiserver is not ready on its own machine. See talosctl logs -k of that machine.',
  NodeNotReady:
    'A Node is not Ready. See kubectl describe node. Where it is Ready there, compare the clock of its machine with that of this host.',
  ControlPlaneCordoned:
    'Somebody else has cordoned a control plane and may take it away; no other one is rebooted meanwhile. Uncordon it when that work is done.',
  ControlPlanePodNotReady: 'A control plane pod is not ready on its machine. See kubectl -n kube-system get pods.',
  ForeignConfiguration:
    'The configuration was changed by someone else. Undo the change that the message names, or finish it everywhere.',
  NotQuiescent: 'The reply to a call was lost. Nothing more is sent until that call can no longer take effect.',
  // Progress.
  Starting: 'The rotation is checked before anything is written.',
  RecordWritten: 'The new certificate authorities are stored; no machine has been told yet.',
  ApplyingConfiguration: 'A machine is given the configuration of this stage.',
  ProvingMachine:
    'A machine was given the configuration of this stage and is being proved. Where it stays so, look at what the message names on that machine, or reboot it: etcd and kube-apiserver start with this configuration then.',
  StageProved: 'Every machine is proved at this stage.',
  RollingControlPlanes: 'Control planes are rebooted one at a time, each behind every gate.',
  CordoningControlPlane: 'A control plane is being prepared for its reboot.',
  DrainingControlPlane:
    'Pods are being moved off a control plane. A pod that a PodDisruptionBudget holds is named in the message.',
  EvacuatingStorage:
    'The evacuation hook moves what a control plane stores away, before it is cordoned and rebooted. It is asked again until it says that this is done. Where it stays so, look at the storage system that it speaks to.',
  ReadmittingStorage:
    'The evacuation hook lets the storage of a control plane back, before its pods. It is asked again until it says that this is done. Where it stays so, look at the storage system that it speaks to.',
  EvacuationHookRefused:
    'The evacuation hook did not do what it was asked for; no further step is taken. Mend what the message names: it is asked again by itself. Another program takes its place with ichor operation continue --evacuation-hook PROGRAM; /usr/bin/true goes on without it.',
  RebootingEtcd:
    'A control plane is rebooting, so that its etcd reads the certificates of this stage; then the whole cluster has to be well again. Where it stays so, mend what the message names.',
  RebootOverdue:
    'The control plane did not come back within twenty minutes. Look at its console, or reboot it where it still runs in the boot of before; no other machine is touched.',
  SettlingAggregator:
    'Extension API servers are given time to read the new aggregator CA. Where no API server publishes it, look at the kube-apiservers.',
  AwaitingCredentials: 'Take the new talosconfig and kubeconfig: ichor cluster credentials --acknowledge.',
  PublishingRootCA: 'Namespaces still hold the old kube-root-ca.crt. Look at kube-controller-manager if this stays.',
  RenewingTalosAccess:
    'Secrets of talos.dev ServiceAccounts still hold a certificate of the old Talos CA. Talos renews them by itself; where it does not, delete the Secret that the message names, and Talos makes it anew.',
  RestartingWorkloads: 'Workloads that started with the old CA are being restarted, a few at a time.',
  ReplacingBundle: 'secrets.yaml is replaced in one step.',
  ResettingAuthentication:
    'extension-apiserver-authentication is reset, so that the old CAs leave it. Where it does not come back, look at the kube-apiservers.',
  ProvingRefusal:
    'The old credentials are tried everywhere; each must be refused. An endpoint that cannot be reached proves nothing: open the port that the message names to this host, or go on without this proof: ichor operation continue --unreachable-endpoints report.',
  OldCredentialAccepted: 'An endpoint still accepts a certificate of the old CA. The message names it.',
  PausedByUser: 'The operation is paused. Go on with ichor operation continue.',
  PastPointOfNoReturn: 'It is too late to go back: the operation is deleted once it is done.',
  Abandoning: 'The rotation is being abandoned; the old certificate authorities stay.',
  Reverting: 'The new certificate authorities are taken back from the machines, one at a time.',
  CallFailed: 'A call did not succeed. It is tried again; the message says which and why.',
  Completed: 'Nothing is left on the old certificate authorities.',
} as const satisfies Record<string, string>;

/** One reason of the closed union. */
export type Reason = keyof typeof REASONS;

/** What a person can do when an operation gives this reason. */
export function adviceFor(reason: Reason): string {
  return REASONS[reason];
}
