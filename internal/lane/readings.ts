/** One machine of the cluster. */
export interface Machine {
  readonly name: string;
  readonly address: string;
  readonly role: 'controlplane' | 'worker';
  /** Version of Talos, `v1.14.1`; `unknown` where it did not answer. */
  readonly talos: string;
  readonly kubelet: string;
}

/** A Node as Kubernetes lists it now. */
export interface NodeNow {
  readonly name: string;
  readonly ready: boolean;
  readonly cordoned: boolean;
}

/** What the etcd of one machine holds: fingerprints of its trust file in order, and whether the first of them signed its leaf. */
export interface EtcdPki {
  readonly trusted: readonly string[];
  readonly leafByFirst: boolean;
}

/** An API that another server answers for. */
export interface ExtensionApi {
  readonly name: string;
  readonly available: boolean;
  readonly message: string;
}

/**
 * What the lane reads of a cluster and the little that it writes, each off the
 * machine that is named. Every method throws where nobody answers; none retries.
 */
export interface Readings {
  nodes(): Promise<readonly NodeNow[]>;
  /** Whether the API server on this control plane answers `/readyz` over a new connection. */
  apiServerReady(machine: Machine): Promise<boolean>;
  bootId(machine: Machine): Promise<string>;
  /** Member IDs as the etcd of this machine lists them. */
  etcdMembers(machine: Machine): Promise<readonly string[]>;
  /** Whether the etcd of this machine runs, knows a leader and reports no error, and whether no alarm is set. */
  etcdHealthy(machine: Machine): Promise<boolean>;
  /** Fingerprints in `/system/secrets/etcd/ca.crt`, in order. */
  etcdTrustFile(machine: Machine): Promise<readonly string[]>;
  etcdPki(machine: Machine): Promise<EtcdPki>;
  /** Gives a snapshot of this machine's etcd, in chunks, to `use`. It holds every Secret of the cluster. */
  etcdSnapshot<T>(machine: Machine, use: (chunks: AsyncIterable<Uint8Array>) => Promise<T>): Promise<T>;
  /** Fingerprints in `requestheader-client-ca-file` of extension-apiserver-authentication. */
  requestHeaderCas(): Promise<readonly string[]>;
  extensionApis(): Promise<readonly ExtensionApi[]>;
  /** How many nodes the metrics API (`kubectl top nodes`) has figures of; `undefined` where it is not installed. */
  nodeMetrics(): Promise<number | undefined>;
  createConfigMap(name: string, value: string): Promise<void>;
  readConfigMap(name: string): Promise<string | undefined>;
  deleteConfigMap(name: string): Promise<void>;
}
