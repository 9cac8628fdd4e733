import type { CaStage, CaTarget, TalosOperation } from '../../api/v1alpha1/index.ts';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';

/**
 * Something that was read, or the reason why it could not be. What could not be
 * read is unknown: never done, never pending.
 */
export type Reading<T> =
  | { readonly known: true; readonly value: T }
  | { readonly known: false; readonly why: UnknownWhy; readonly message: string };

/** Why something is unknown, as far as it changes what a person should do. */
export type UnknownWhy = 'unreachable' | 'untrusted' | 'maintenance' | 'failed';

/** Where a machine's configuration stands for one target. */
export type ConfigStanding =
  | { readonly stage: 'Before' | 'Accepting' | 'Issuing' | 'Dropping' }
  | { readonly stage: 'NotConcerned' }
  | { readonly stage: 'Foreign'; readonly why: string };

/** Old and new certificate authority of one target; certificates only, no keys. */
export interface TargetMaterial {
  readonly old: Certificate;
  readonly new: Certificate;
}

/** What one machine says of the PKI that it runs with: fingerprints out of its resources, in their order. */
export interface PkiReading {
  readonly talosIssuing?: Fingerprint;
  /** What its apid accepts as client certificates. */
  readonly talosAccepted: readonly Fingerprint[];
  /**
   * What its own configuration has made it accept (`OSRootSecrets`). The apid of a worker accepts what the
   * trustd that it asked last says, told of the stage or not (docs/reference/talos-observed.md).
   */
  readonly talosRootAccepted: readonly Fingerprint[];
  /** The CA that signed the certificate apid serves. */
  readonly apidIssuer?: Fingerprint;
  readonly kubernetesIssuing?: Fingerprint;
  readonly kubernetesAccepted: readonly Fingerprint[];
  /** What its kubelet trusts. */
  readonly kubeletAccepted: readonly Fingerprint[];
  readonly aggregatorIssuing?: Fingerprint;
  readonly aggregatorAccepted: readonly Fingerprint[];
  /** The certificates in etcd's trust file, in order. */
  readonly etcdTrusted: readonly Fingerprint[];
  /** The CA that signed etcd's server and peer leaf certificates; absent where they differ or neither CA signed them. */
  readonly etcdLeafIssuer?: Fingerprint;
}

/** etcd as one machine sees it. Member IDs are sixteen hexadecimal digits. */
export interface EtcdReading {
  readonly memberId: string;
  /** `undefined` where no leader is seen. */
  readonly leaderId: string | undefined;
  readonly members: readonly { readonly id: string; readonly name: string; readonly learner: boolean }[];
  readonly alarms: readonly string[];
}

/** State of one Talos service. */
export interface ServiceReading {
  readonly running: boolean;
  readonly healthy: boolean;
  /** When it started, by the machine's clock, ms since the epoch; absent where its events do not tell any more. */
  readonly startedAt?: number;
}

/** Everything that one machine said over its own Talos API. */
export interface TalosReading {
  /** For example `1.14.1`. */
  readonly version: string;
  readonly bootId: string;
  /** SHA-256 of the configuration's bytes. */
  readonly configDigest: string;
  /** SHA-256 of the configuration that the next boot will start with; absent where the machine does not show it. */
  readonly keptDigest?: string;
  readonly standing: Readonly<Record<CaTarget, ConfigStanding>>;
  /** Why its configuration cannot be rendered, with field and line; absent where nothing is wrong with it. */
  readonly unfit?: string;
  /** Where its configuration lets kube-apiserver listen; control planes only. */
  readonly apiServerPort?: number;
  readonly pki: PkiReading;
  readonly kubelet: ServiceReading;
  /** Control planes only. */
  readonly etcdService?: ServiceReading;
  readonly etcd?: Reading<EtcdReading>;
  /**
   * Container ids of the kube-apiservers that run, control planes only. Two, while
   * the one of before is still ending: it answers on the port, and the new one
   * starts in vain (`talos-observed`).
   */
  readonly apiServers?: readonly string[];
}

/** The Node object of a machine. */
export interface NodeReading {
  readonly name: string;
  readonly uid: string;
  /** Ready, with a heartbeat that is younger than the loss of a node would take to show. */
  readonly ready: boolean;
  readonly readyMessage: string;
  readonly bootId: string;
  /**
   * How far the machine's clock is ahead of ours by its kubelet's Lease, ms, below 0 where it is behind; right to some ten
   * seconds. 0 while the Lease has not been seen to change, unless it lies in the future.
   */
  readonly clockAheadMs: number;
  readonly cordoned: boolean;
  readonly cordonedByUs: boolean;
}

/** One machine of the cluster. */
export interface MachineObservation {
  /** Name of its Node, or its host name where it has none. */
  readonly name: string;
  readonly address: string;
  readonly role: 'controlplane' | 'worker';
  readonly talos: Reading<TalosReading>;
  /** `/readyz` of the kube-apiserver on this machine, over a new connection; control planes only. */
  readonly apiServer?: Reading<{ readonly ready: boolean; readonly message: string }>;
  /** `value` is absent where Kubernetes has no Node for it. */
  readonly node: Reading<NodeReading | undefined>;
  /** CA fingerprints of the leaves served on 2379 and 2380 over new connections; read when it decides about a roll. */
  readonly etcdServed?: Reading<{ readonly client: Fingerprint | undefined; readonly peer: Fingerprint | undefined }>;
}

/** A machine that discovery names, and that is none of those in the list, which is made of Nodes. */
export interface UnlistedMachine {
  readonly name: string;
  /** Where it answers, or all the addresses that were tried. */
  readonly address: string;
  /** Whether a machine of this cluster answers there; one that was lost stays in discovery for half an hour. */
  readonly answers: boolean;
}

/** What the Kubernetes API says of the cluster as a whole; each part is read only when a decision needs it. */
export interface KubernetesObservation {
  /** The ConfigMap from which extension API servers learn whom to trust. */
  readonly authentication?: Reading<AuthenticationReading>;
  /** Namespaces whose kube-root-ca.crt is not exactly the new CA. */
  readonly rootCa?: Reading<{ readonly total: number; readonly stale: readonly string[] }>;
  /** Owners of pods that started before the new root CA was published, e.g. `default/Deployment/web`. */
  readonly stalePods?: Reading<readonly StaleWorkload[]>;
  /** Secrets with which programs in the cluster call the Talos API. */
  readonly talosAccess?: Reading<readonly TalosAccessReading[]>;
  /** The machine whose kube-controller-manager leads, and so signs what kubelets ask for; absent value where none of these does. */
  readonly controllerManager?: Reading<string | undefined>;
  /** Pods still to be moved off the control plane that is being drained, with what holds them. */
  readonly draining?: Reading<readonly { readonly pod: string; readonly heldBy?: string }[]>;
  /** Control plane pods that are not Ready, e.g. `kube-scheduler-cp1`. */
  readonly unreadyControlPlanePods?: Reading<readonly string[]>;
}

/** One `talos.dev` ServiceAccount: who signed the certificate in its Secret. */
export interface TalosAccessReading {
  /** `namespace/name` */
  readonly name: string;
  /** Absent where there is no certificate, or neither CA of the rotation signed it. */
  readonly issuer?: Fingerprint;
  /** Pods that mount the Secret. */
  readonly pods: readonly string[];
}

/** See `KubernetesObservation.authentication`. */
export type AuthenticationReading =
  | { readonly present: false }
  | {
      readonly present: true;
      readonly uid: string;
      readonly requestheader: readonly Fingerprint[];
      readonly client: readonly Fingerprint[];
    };

/** Workload whose pods started with the old root CA. */
export interface StaleWorkload {
  readonly owner: string;
  readonly pods: number;
  /** Whether a rollout can restart it (Deployment, StatefulSet, DaemonSet). */
  readonly restartable: boolean;
  /** The restart of it that is under way; absent where none is. */
  readonly restart?: RolloutReading;
  /** Why a restart asked for now would replace nothing, in one clause; absent where it would. */
  readonly heldBy?: string;
}

/** A rollout that is not over. */
export interface RolloutReading {
  /** What is missing, with numbers. */
  readonly message: string;
  /** When it was asked for, ms since the epoch; absent where another change of the workload began it. */
  readonly since?: number;
}

/** The outcome of trying one old credential at one endpoint. */
export interface RefusalProof {
  /** For example `talos client certificate at 10.0.0.1:50000`. */
  readonly what: string;
  /** `unreachable`: no connection came about, so nothing was tried. */
  readonly outcome: 'refused' | 'accepted' | 'unreachable' | 'unknown';
  readonly message: string;
}

/** What the store holds besides the operation. */
export interface StoreObservation {
  /** `undefined` until the new certificate authorities are stored; the keys present are the targets. */
  readonly material: Readonly<Partial<Record<CaTarget, TargetMaterial>>> | undefined;
  /**
   * The uid of the operation that stored this material, where that is another one: it was removed by force, and its
   * record was left.
   */
  readonly adoptedFrom?: string;
  /** Whether the bundle holds the new material of every target already. */
  readonly bundleReplaced: boolean;
  /** Refusals of the checks on old and new material, one sentence each. */
  readonly problems: readonly string[];
  /** Other operations of this cluster that are under way. */
  readonly otherOperations: readonly string[];
}

/** One immutable picture of the cluster; whatever `decide` says follows from it alone. */
export interface Observation {
  /** When it was completed, milliseconds since the epoch. */
  readonly now: number;
  /** When the process that made it looked at this operation first, by the same clock: nobody measured what was before. */
  readonly watchedSince: number;
  readonly operation: TalosOperation;
  readonly store: StoreObservation;
  /** Control planes first, each group sorted by name. */
  readonly machines: readonly MachineObservation[];
  /** Why the list of machines is not known to be complete; absent where it is. */
  readonly machinesIncomplete?: string;
  /** Machines without a Node, as far as discovery knows of any; unknown where it does not even name those in the list. */
  readonly unlisted?: Reading<readonly UnlistedMachine[]>;
  readonly kubernetes: KubernetesObservation;
  /** Read in Finalizing only. */
  readonly refusals?: readonly RefusalProof[];
}

/** Which expensive parts of the next observation a decision will ask for. */
export interface Needs {
  readonly etcdServed: boolean;
  readonly authentication: boolean;
  readonly rootCa: boolean;
  readonly stalePods: boolean;
  readonly talosAccess: boolean;
  readonly controllerManager: boolean;
  readonly unlisted: boolean;
  /** Name of the control plane whose pods are to be listed. */
  readonly draining: string | undefined;
  readonly controlPlanePods: boolean;
  readonly refusals: boolean;
}

/** The configuration stages in their order, for comparing where machines stand. */
export const CONFIG_STAGES = ['Before', 'Accepting', 'Issuing', 'Dropping'] as const;

/** The configuration that a machine carries in this stage of the rotation. */
export function configStageOf(stage: CaStage): (typeof CONFIG_STAGES)[number] {
  switch (stage) {
    case 'Pending':
      return 'Before';
    case 'Accepting':
    case 'AwaitingCredentials':
      return 'Accepting';
    case 'Issuing':
      return 'Issuing';
    case 'Dropping':
    case 'Finalizing':
    case 'Done':
      return 'Dropping';
  }
}
