import type { CaTarget, OperationSpec, OperationStatus, TalosOperation } from '../../api/v1alpha1/index.ts';
import type { RotationRecord } from '../../pkg/bundle/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import type { KubeClient, KubeClientOptions } from '../../pkg/kube/index.ts';
import type { CertificateAndKey, Fingerprint } from '../../pkg/pki/index.ts';
import type { Identity, TalosMachine, TlsProbe, TlsProbeOptions } from '../../pkg/talos/index.ts';
import type { AuditEntry, ClusterState } from '../store/index.ts';
import type { HookAnswer } from './act-evacuation.ts';

export type { AuditEntry, ClusterState };

/** One HTTPS request with a client certificate, for endpoints that refuse in HTTP and not in TLS. The server is not verified. */
export interface HttpsProbe {
  readonly address: string;
  readonly port: number;
  readonly path: string;
  readonly credentials: CertificateAndKey;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How an HTTPS probe ended. */
export type HttpsOutcome =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'untrusted-client'; readonly message: string }
  /** It answered, and the handshake failed for another reason, which says nothing of our certificate. */
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string };

/** Every connection that the engine opens. Real sockets in the product, machines in memory in the simulator. */
export interface Connections {
  /** The Talos API of one machine. */
  talos(machine: { readonly name: string; readonly address: string } & Identity): TalosMachine;
  /** The Kubernetes API of one control plane. */
  kube(options: KubeClientOptions): KubeClient;
  /** One raw TLS handshake, read to its end. */
  probeTls(options: TlsProbeOptions): Promise<TlsProbe>;
  probeHttps(probe: HttpsProbe): Promise<HttpsOutcome>;
}

/** The store as the engine uses it; each write is durable when its promise resolves. */
export interface EngineStore {
  /** Where the cluster's machines were last known: addresses from the talosconfig. */
  endpoints(): Promise<readonly string[]>;
  readState(): Promise<ClusterState>;
  /** Durable, read back and compared before it resolves; refuses where another operation's record stands. */
  writeRecord(record: RotationRecord): Promise<void>;
  /** Idempotent. */
  removeRecord(): Promise<void>;
  /** One atomic replacement; the old bundle is kept beside it. Idempotent: a bundle that holds the replacements already is left alone. */
  replaceBundle(
    expected: Fingerprint | string,
    replacements: Readonly<Partial<Record<CaTarget, CertificateAndKey>>>,
  ): Promise<void>;
  /** What becomes of the kept bundle. Idempotent. */
  settlePrevious(choice: OperationSpec['previousBundle']): Promise<void>;
  readOperation(name: string): Promise<TalosOperation | undefined>;
  listOperations(): Promise<readonly TalosOperation[]>;
  /**
   * Writes status, annotations and finalizers if the resource version still matches.
   * Returns what is stored now. Errors: `StaleOperationError` where somebody else wrote in between.
   */
  updateOperation(operation: TalosOperation, change: OperationChange): Promise<TalosOperation>;
  appendAudit(entry: AuditEntry): Promise<void>;
}

/** What the engine may change of an operation. */
export interface OperationChange {
  readonly status?: OperationStatus;
  readonly finalizers?: readonly string[];
  /** `true` removes the hand-off annotation. */
  readonly dropHandoff?: boolean;
}

/** Everything that the shell reaches the world through. */
export interface Ports {
  readonly clock: Clock;
  readonly connections: Connections;
  readonly store: EngineStore;
  /** Asks the program that moves what a machine stores away before its reboot; absent where no programs are run. */
  readonly evacuation?: EvacuationHook;
}

/**
 * The storage evacuation hook of the design, around the reboot of a control plane: `evacuate` before the cordon,
 * `readmit` when the machine is back and etcd whole, before pods are let back; also when the rotation is abandoned.
 * It may be asked the same again at any time, also while an earlier call of a process that was killed still runs.
 */
export interface EvacuationHook {
  /** Answers within a bounded time: what takes longer is `NotYet`, and asked again. Never rejects for what the program does. */
  ask(call: HookCall): Promise<Omit<HookAnswer, 'at'>>;
}

/** One question to the evacuation hook. */
export interface HookCall {
  /** Absolute path. */
  readonly program: string;
  readonly call: 'evacuate' | 'readmit';
  /** As the rotation names it. */
  readonly machine: string;
  /** Of its Talos API. */
  readonly address: string;
  /** Its Node in Kubernetes. */
  readonly node: string;
  /** Name of the operation. */
  readonly operation: string;
}
