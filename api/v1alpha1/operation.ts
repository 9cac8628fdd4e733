import { z } from 'zod';
import { REASONS, type Reason } from './reasons.ts';
import { CA_STAGES } from './stages.ts';
import { CA_TARGETS } from './targets.ts';

/** Group and version of every Ichor object. */
export const API_VERSION = 'ichor.maesh.dev/v1alpha1';

/** Holds an operation back from deletion until it is abandoned or done. */
export const ROTATION_FINALIZER = 'ichor.maesh.dev/ca-rotation';

/** Annotation with which an operator says that the new credentials are in their hands; its value is the hand-off token. */
export const HANDOFF_ANNOTATION = 'ichor.maesh.dev/credentials-handoff';

/** Absolute and printable: it stands in messages. */
const ProgramPath = z
  .string()
  .max(4_096)
  .regex(/^\/\P{C}*$/u);
const Timestamp = z.iso.datetime({ precision: 3 });
const Fingerprint = z.string().regex(/^[0-9a-f]{64}$/);
const Target = z.enum(CA_TARGETS);
const Stage = z.enum(CA_STAGES);
const ReasonName = z.enum(Object.keys(REASONS) as [Reason, ...Reason[]]);

const Condition = z.strictObject({
  type: z.enum(['CARotation', 'DeletionHeld', 'AggregatorAccepted', 'RootCaPublished', 'AuthenticationReset']),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: ReasonName,
  message: z.string(),
  lastTransitionTime: Timestamp,
});

/** What was true of a machine just before it was given a stage's configuration; the proof compares with it. */
const Applied = z.strictObject({
  machine: z.string(),
  stage: Stage,
  /** Boot that the machine was in: another one later means that its etcd and kube-apiserver have started since. */
  bootID: z.string(),
  /** Container of kube-apiserver, absent on workers. */
  apiServerInstance: z.string().optional(),
  /** When its kubelet had started, by the machine's clock; only where it restarts for what it was given. */
  kubeletStartedAt: Timestamp.optional(),
  /** It stood two stages behind: what its etcd read at the start of this boot is of neither stage. */
  leftBehind: z.boolean().optional(),
  appliedAt: Timestamp,
});

/** A mutating call that was sent and whose outcome is not known yet. Written before the call, removed after a definite answer. */
const InFlight = z.strictObject({
  machine: z.string(),
  call: z.enum(['apply', 'reboot']),
  bootID: z.string(),
  /** From here on the caller has given up; the machine may still act on it until it is seen alive after this. */
  deadline: Timestamp,
});

/** What the evacuation hook answered last. */
const HookAnswer = z.strictObject({
  outcome: z.enum(['Done', 'NotYet', 'Refused']),
  /** How it ended and the end of what it printed, without control characters and keys. */
  found: z.string(),
  at: Timestamp,
});

/** The control plane whose storage was asked to leave, until it was let back. Written before the hook is asked for the first time. */
const Evacuation = z.strictObject({
  machine: z.string(),
  /** What it is asked now. */
  call: z.enum(['evacuate', 'readmit']),
  /** When it was first asked that. */
  since: Timestamp,
  /** Absent where nobody heard an answer yet. */
  answer: HookAnswer.optional(),
});

const CaRotationStatus = z.strictObject({
  targets: z.array(Target),
  certificates: z.array(z.strictObject({ name: Target, old: Fingerprint, new: Fingerprint })),
  stageStartedAt: Timestamp.optional(),
  applied: z.array(Applied),
  inFlight: z.array(InFlight),
  /** Control planes rebooted in this stage. */
  etcdRestarted: z.array(z.string()),
  /** When the running reboot was requested. */
  etcdRestartedAt: Timestamp.optional(),
  /** The control plane that is being rebooted. */
  etcdRebooting: z.string().optional(),
  /** The boot that it leaves. */
  etcdRebootBootID: z.string().optional(),
  /** When the reboot of this machine was first requested; the twenty minutes count from here. */
  etcdRebootSince: Timestamp.optional(),
  /** The control plane that is being cordoned and drained, and since when. */
  etcdDraining: z.string().optional(),
  drainStartedAt: Timestamp.optional(),
  /** When its pods were last asked to go. */
  drainTriedAt: Timestamp.optional(),
  /** The control plane that was asked to give up etcd's leadership in this step; asked once, best effort. */
  etcdForfeited: z.string().optional(),
  evacuation: Evacuation.optional(),
});

const HistoryEntry = z.strictObject({ time: Timestamp, stage: Stage, reason: ReasonName, message: z.string() });

/** Desired and observed state of one rotation: what users write (`spec`) and read (`status`). */
export const TalosOperation = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('TalosOperation'),
  metadata: z.strictObject({
    name: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
    uid: z.string(),
    generation: z.int().positive(),
    resourceVersion: z.string(),
    creationTimestamp: Timestamp,
    deletionTimestamp: Timestamp.optional(),
    finalizers: z.array(z.string()),
    annotations: z.record(z.string(), z.string()),
  }),
  spec: z.strictObject({
    type: z.literal('CARotation'),
    /** Absent or empty means talos and kubernetes. */
    caRotation: z.strictObject({ targets: z.array(Target).optional() }).optional(),
    paused: z.boolean(),
    /** `Rolling` restarts the owners of pods that started before the new root CA was published. */
    restartWorkloads: z.enum(['Never', 'Rolling']),
    /** What becomes of the replaced bundle when the rotation is done. */
    previousBundle: z.enum(['Archive', 'Remove']),
    /**
     * What becomes of endpoints that cannot be reached at the end, so that nobody knows
     * whether they refuse old credentials: `Hold` (also where absent) waits for them,
     * `Report` names them and lets the rotation end.
     */
    unreachableEndpoints: z.enum(['Hold', 'Report']).optional(),
    /**
     * Program that moves what a control plane stores away before it is cordoned for its reboot, and lets it back
     * afterwards: an absolute path on the host that runs the rotation. Absent: nothing is asked.
     */
    evacuationHook: ProgramPath.optional(),
  }),
  status: z.strictObject({
    observedGeneration: z.int().nonnegative(),
    phase: z.enum(['Pending', 'InProgress', 'Paused', 'Completed']),
    stage: Stage,
    reason: ReasonName,
    message: z.string(),
    conditions: z.array(Condition),
    caRotation: CaRotationStatus,
    /** Last changes of reason or message, oldest first, at most fifty. */
    history: z.array(HistoryEntry),
    completedAt: Timestamp.optional(),
  }),
});

/** See the schema of the same name. */
export type TalosOperation = z.infer<typeof TalosOperation>;

/** Spec of an operation. */
export type OperationSpec = TalosOperation['spec'];

/** Status of an operation. */
export type OperationStatus = TalosOperation['status'];

/** The part of the status that only CA rotations have. */
export type CaRotationStatus = OperationStatus['caRotation'];

/** What the evacuation hook is asked about one machine, and what it answered. */
export type EvacuationStatus = NonNullable<CaRotationStatus['evacuation']>;

/** One condition of the status. */
export type OperationCondition = OperationStatus['conditions'][number];

/** The status of an operation that nobody has looked at yet. */
export function pendingStatus(): OperationStatus {
  return {
    observedGeneration: 0,
    phase: 'Pending',
    stage: 'Pending',
    reason: 'Starting',
    message: 'not started',
    conditions: [],
    caRotation: { targets: [], certificates: [], applied: [], inFlight: [], etcdRestarted: [] },
    history: [],
  };
}

/**
 * The token by which an operator acknowledges the hand-off: the fingerprints of
 * the new certificate authorities, as `status.caRotation.certificates` shows
 * them. Another rotation has another token.
 */
export function handoffToken(status: CaRotationStatus): string {
  return status.certificates.map(({ name, new: fingerprint }) => `${name}=${fingerprint.slice(0, 16)}`).join(',');
}
