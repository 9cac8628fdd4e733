/**
 * The parts of Kubernetes objects that Ichor reads, as they come: everything optional that an API server may leave out.
 * Fields that are not named here are kept by the client and ignored.
 */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

/** An object of which only the metadata matters. */
export interface KubeObject {
  readonly metadata: ObjectMeta;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastHeartbeatTime?: string | null;
  readonly lastTransitionTime?: string | null;
}

export interface NodeObject extends KubeObject {
  readonly spec: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: { readonly bootID: string; readonly kubeletVersion: string; readonly osImage: string };
  };
}

export interface LeaseObject extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly acquireTime?: string | null;
    readonly renewTime?: string | null;
    readonly leaseTransitions?: number | null;
  };
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly configMap?: { readonly name?: string };
  readonly secret?: { readonly secretName?: string };
  readonly projected?: {
    readonly sources?: readonly {
      readonly configMap?: { readonly name?: string };
      readonly secret?: { readonly name?: string };
    }[];
  };
}

/** What a pod puts up with. Without a key, `Exists` is everything; without an effect, every effect. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly effect?: string;
}

export interface PodObject extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly volumes?: readonly Volume[];
    readonly tolerations?: readonly Toleration[];
  };
  readonly status?: {
    readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
    readonly startTime?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly state?: { readonly running?: { readonly startedAt: string } };
    }[];
  };
}

export interface ConfigMapObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

export interface DisruptionBudgetObject extends KubeObject {
  readonly spec: { readonly selector?: LabelSelector | null };
  readonly status?: {
    readonly disruptionsAllowed: number;
    readonly currentHealthy: number;
    readonly desiredHealthy: number;
    readonly observedGeneration?: number;
  };
}

/** A Deployment, StatefulSet or DaemonSet. */
export interface WorkloadObject extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly selector?: LabelSelector;
    readonly strategy?: { readonly type?: string };
    readonly updateStrategy?: { readonly type?: string };
    readonly template: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>;
        readonly annotations?: Readonly<Record<string, string>>;
      };
    };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
  };
}
