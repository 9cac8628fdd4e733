import type { Certificate, CertificateAndKey, Secret } from '../pki/index.ts';
import type { Resource, ResourceEvent, ResourceKind } from './resource.ts';

/** How one call is made. */
export interface CallOptions {
  /** Really cancels: the stream is reset and the promise rejects with kind `cancelled`. */
  readonly signal?: AbortSignal;
  /** Time for the whole call, connecting included. Default: the machine's deadline for this kind of call. */
  readonly deadlineMs?: number;
  /**
   * Use a connection of its own, opened for this call and closed after it. A live
   * connection is never verified again, so every proof about trust needs this.
   */
  readonly fresh?: boolean;
}

/** Default deadlines in milliseconds. */
export interface Deadlines {
  /** Calls that read one thing, a kubeconfig as well. Default 10,000. */
  readonly readMs: number;
  /** Calls that change the machine (apply, reboot, forfeit, restart). Default 30,000. */
  readonly changeMs: number;
  /** Streams with an end (snapshot, files, lists). Default 120,000. */
  readonly streamMs: number;
  /** Watches and events: how long one may last before it must be opened again. Default 600,000. */
  readonly watchMs: number;
}

/** Whom we trust and who we are. During a rotation `trust` holds the old and the new CA. */
export interface Identity {
  readonly trust: readonly Certificate[];
  readonly credentials: CertificateAndKey;
}

/** What the machine runs. `tag` is `v1.14.1`; `mode` is `metal`, `cloud`, `container` or `metal-agent`. */
export interface TalosVersion {
  readonly tag: string;
  readonly arch: string;
  readonly platform: string;
  readonly mode: string;
  readonly rbac: boolean;
}

/**
 * `active` is what runs, `persistent` what the next boot starts with; they differ
 * after STAGED and TRY. After a boot from disk there is no `persistent` one
 * (`not-found`) until something is applied: the disk then holds what was active at
 * the start (seen on Talos 1.14.1).
 */
export type ConfigurationKind = 'active' | 'persistent';

/** The exact text that was applied last, comments included. It holds keys, hence the Secret. */
export interface MachineConfiguration {
  readonly config: Secret<'machine-config'>;
  /** COSI version: moves on every apply, starts again at 1 with every boot. */
  readonly version: bigint;
}

/**
 * Modes of ApplyConfiguration; there is no default, because an unset mode on the
 * wire means REBOOT. 1.14 answers `unsupported` to REBOOT and treats AUTO as NO_REBOOT.
 */
export type ApplyMode = 'REBOOT' | 'AUTO' | 'NO_REBOOT' | 'STAGED' | 'TRY';

export interface ApplyRequest {
  readonly config: Secret<'machine-config'>;
  readonly mode: ApplyMode;
  /** Validates and reports, changes nothing; a pending TRY goes on (seen on Talos 1.14.1). */
  readonly dryRun?: boolean;
  /** With TRY: when the machine goes back by itself. */
  readonly tryTimeoutMs?: number;
}

export interface ApplyResult {
  /** The mode that the machine used. */
  readonly mode: ApplyMode;
  readonly warnings: readonly string[];
  /** What the machine says it did; of a dry run without the difference, which holds keys. */
  readonly details: string;
  /** Only of a dry run: whether the machine found a difference. */
  readonly changes?: boolean;
}

/** One service of machined. `lastChange` is in ms since the epoch. */
export interface ServiceStatus {
  readonly id: string;
  /** `Running`, `Waiting`, `Preparing`, `Stopping`, `Finished`, `Failed`, `Skipped`, … */
  readonly state: string;
  /** `undefined` while the machine has not checked yet, or does not check this service. */
  readonly healthy: boolean | undefined;
  readonly healthMessage: string;
  /** Newest last, at most 64. */
  readonly events: readonly { readonly state: string; readonly message: string; readonly at: number }[];
}

/** Text form of an etcd member ID: 16 lower-case hex digits. */
export type EtcdMemberId = string & { readonly __brand: 'EtcdMemberId' };

export interface EtcdMember {
  readonly id: EtcdMemberId;
  /** Empty for a member that was added but never started. */
  readonly name: string;
  readonly peerUrls: readonly string[];
  readonly clientUrls: readonly string[];
  readonly learner: boolean;
}

/** What the etcd of this machine says about itself. */
export interface EtcdStatus {
  readonly memberId: EtcdMemberId;
  /** `undefined` while it knows no leader. */
  readonly leader: EtcdMemberId | undefined;
  readonly learner: boolean;
  readonly raftTerm: bigint;
  readonly raftIndex: bigint;
  readonly raftAppliedIndex: bigint;
  readonly databaseBytes: bigint;
  readonly databaseBytesInUse: bigint;
  readonly errors: readonly string[];
  readonly storageVersion: string;
}

export interface EtcdAlarm {
  readonly memberId: EtcdMemberId;
  readonly alarm: 'NOSPACE' | 'CORRUPT' | 'UNRECOGNIZED';
}

/** The calls that only a control plane answers; a worker answers `unsupported`. */
export interface TalosEtcd {
  /** Members as the etcd of this machine sees them. */
  members(options?: CallOptions): Promise<readonly EtcdMember[]>;
  /** Local status; needs no quorum. */
  status(options?: CallOptions): Promise<EtcdStatus>;
  /** Empty in a healthy cluster. */
  alarms(options?: CallOptions): Promise<readonly EtcdAlarm[]>;
  /** Moves the leadership away; name of the new leader, `undefined` when this machine was not the leader. */
  forfeitLeadership(options?: CallOptions): Promise<string | undefined>;
  /** A consistent snapshot, in chunks. It holds every Secret of the cluster. */
  snapshot(options?: CallOptions): AsyncIterable<Uint8Array>;
}

/** `POWERCYCLE` skips kexec, `FORCE` skips the orderly stop. */
export type RebootMode = 'DEFAULT' | 'POWERCYCLE' | 'FORCE';

/** One container of the CRI. `id` is `<ns>/<pod>` for a sandbox, `<ns>/<pod>:<container>:<short id>` otherwise. */
export interface ContainerStatus {
  readonly id: string;
  readonly podId: string;
  readonly name: string;
  readonly image: string;
  readonly pid: number;
  readonly status: string;
  readonly sandbox: boolean;
}

/** Clock of the machine: `remote` in ms since the epoch, as the machine had it between `sentAt` and `receivedAt` of ours. */
export interface MachineTime {
  readonly remote: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** An event of the machine, decoded; types that the client does not know come as `other`. */
export type MachineEvent = { readonly id: string; readonly actorId: string } & (
  | {
      readonly type: 'sequence';
      readonly sequence: string;
      readonly action: 'NOOP' | 'START' | 'STOP';
      readonly error?: string;
    }
  | { readonly type: 'phase'; readonly phase: string; readonly action: 'START' | 'STOP' }
  | { readonly type: 'task'; readonly task: string; readonly action: 'START' | 'STOP' }
  | { readonly type: 'service'; readonly service: string; readonly action: string; readonly message: string }
  | {
      readonly type: 'machine-status';
      readonly stage: string;
      readonly ready: boolean;
      readonly unmet: readonly string[];
    }
  | { readonly type: 'other'; readonly typeUrl: string }
);

/** A client certificate that the machine issued on request. */
export interface IssuedIdentity {
  readonly credentials: CertificateAndKey;
  /** The CAs to trust, as the machine gave them. */
  readonly trust: readonly Certificate[];
}

/**
 * The Talos API of one machine. Whatever is called here is done by the machine
 * that was named at construction: no call carries routing metadata, so no other
 * machine's proxy is ever involved. Every call has a deadline and none is
 * repeated. Failures are {@link TalosError}s.
 */
export interface TalosMachine {
  readonly name: string;
  readonly address: string;
  readonly port: number;

  version(options?: CallOptions): Promise<TalosVersion>;
  time(options?: CallOptions): Promise<MachineTime>;
  /** Needs os:admin. */
  configuration(which: ConfigurationKind, options?: CallOptions): Promise<MachineConfiguration>;
  /** Needs os:admin. There is no compare-and-set: read back and compare. */
  apply(request: ApplyRequest, options?: CallOptions): Promise<ApplyResult>;
  services(options?: CallOptions): Promise<readonly ServiceStatus[]>;
  /** Talos allows this for `kubelet` and `ext-*` only; the others answer `refused`. */
  restartService(id: string, options?: CallOptions): Promise<void>;
  readonly etcd: TalosEtcd;
  /** Returns as soon as the machine accepted; the actor ID marks the events of this reboot. */
  reboot(mode: RebootMode, options?: CallOptions): Promise<{ readonly actorId: string }>;
  /** From COSI, else (before 1.14, or in a container) from /proc of the machine, which needs os:admin. */
  bootId(options?: CallOptions): Promise<string>;
  /** Containers of the CRI namespace `k8s.io`. */
  containers(options?: CallOptions): Promise<readonly ContainerStatus[]>;

  /** One resource, `undefined` when it does not exist. `id` defaults to the kind's own. */
  get<Spec>(
    kind: ResourceKind<Spec>,
    options?: CallOptions & { readonly id?: string },
  ): Promise<Resource<Spec> | undefined>;
  list<Spec>(kind: ResourceKind<Spec>, options?: CallOptions): Promise<readonly Resource<Spec>[]>;
  /** The present state first, then every change, until `signal` fires, the deadline passes or the connection breaks. */
  watch<Spec>(
    kind: ResourceKind<Spec>,
    options?: CallOptions & { readonly id?: string },
  ): AsyncIterable<ResourceEvent<Spec>>;

  /** An admin kubeconfig, issued for this call. Needs os:admin and a control plane. */
  kubeconfig(options?: CallOptions): Promise<Secret<'kubeconfig'>>;
  /** A client certificate with the given roles. Needs os:admin and a control plane. */
  issueClient(
    request: { readonly roles: readonly string[]; readonly ttlMs: number },
    options?: CallOptions,
  ): Promise<IssuedIdentity>;
  /** A regular file, up to `maxBytes` (default 32 MiB). Needs os:admin. */
  readFile(path: string, options?: CallOptions & { readonly maxBytes?: number }): Promise<Buffer>;
  /** Events: only new ones, or with `tail` that many (negative: all that are kept) before them. */
  events(options?: CallOptions & { readonly tail?: number }): AsyncIterable<MachineEvent>;

  /** Swaps whom we trust and who we are: the connection is closed, the next call opens another. Calls in flight finish. */
  use(identity: Identity): void;
  /** Closes the connection; the next call opens another. For after a reboot. */
  reconnect(): void;
  /** Ends the client: calls in flight are cancelled, later ones are an error. */
  close(): void;
}
