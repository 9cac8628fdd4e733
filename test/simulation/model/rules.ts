/**
 * The rules of the protocol that can be left out, each to show what it is for:
 * without any one of them the exploration finds a state that must not be.
 */
export interface Rules {
  /** The new keys are stored before any machine is told. */
  readonly keysStoredFirst: boolean;
  /** A machine is told only while the cluster is whole, and the one before is proved. */
  readonly proofBetweenMachines: boolean;
  /** A stage is left only when every machine is proved. */
  readonly stageProved: boolean;
  /** Control planes are rebooted after every one of them was told to accept. */
  readonly rollAfterAccepting: boolean;
  /** Control planes are rebooted after every one of them was told to drop. */
  readonly rollAfterDropping: boolean;
  /** Only another boot proves that a machine has read its certificates; a new etcd alone does not. */
  readonly bootIsEvidence: boolean;
  /** A machine is cordoned before its reboot. */
  readonly cordon: boolean;
  /** It is empty before its reboot. */
  readonly drain: boolean;
  /** The cluster is whole before a reboot is asked for. */
  readonly gateBeforeReboot: boolean;
  /** The cluster is whole before a reboot is asked for again. */
  readonly gateBeforeRetry: boolean;
  /** The marker is written before the reboot is sent. */
  readonly markerFirst: boolean;
  /** A call is noted before it is sent. */
  readonly noteFirst: boolean;
  /** The boot is read again right before a call is sent. */
  readonly bootCheckedAtCall: boolean;
  /** While the marker names a machine nothing else is done. */
  readonly oneAtATime: boolean;
  /** After a lost reply nothing is sent until the call can no longer land. */
  readonly quiescence: boolean;
  /** The marker goes when the cluster is whole again, not when the machine answers. */
  readonly gateAfterReboot: boolean;
  /** The marker goes from a machine that came back on an older configuration, so that it is told again. */
  readonly rearm: boolean;
  /** While a machine reboots, no certificates are waited for that only the pass after it brings. */
  readonly passNotWaitedFor: boolean;
  /** A reboot that did not happen is asked for again. */
  readonly retry: boolean;
  /** A refused repetition leaves the marker: the request before it may have been heard. */
  readonly repetitionKeepsMarker: boolean;
  /** A machine is uncordoned when it is back. */
  readonly uncordon: boolean;
  /** What was being drained and need not reboot any more is let go. */
  readonly release: boolean;
}

/** The protocol as it is. */
export const RULES: Rules = {
  keysStoredFirst: true,
  proofBetweenMachines: true,
  stageProved: true,
  rollAfterAccepting: true,
  rollAfterDropping: true,
  bootIsEvidence: true,
  cordon: true,
  drain: true,
  gateBeforeReboot: true,
  gateBeforeRetry: true,
  markerFirst: true,
  noteFirst: true,
  bootCheckedAtCall: true,
  oneAtATime: true,
  quiescence: true,
  gateAfterReboot: true,
  rearm: true,
  passNotWaitedFor: true,
  retry: true,
  repetitionKeepsMarker: true,
  uncordon: true,
  release: true,
};

/** Which cluster and which rotation is explored. */
export interface Shape {
  readonly controlPlanes: number;
  /** Whether people have to take new credentials: there is a stage for it. */
  readonly handOff: boolean;
  /** Whether Talos restarts kube-apiserver for a new configuration, as for the Kubernetes CA beside that of etcd. */
  readonly restartsPods: boolean;
  /** Whether the probe of the leaf that etcd serves can fail, so that machines are rebooted after Issuing as well. */
  readonly probeFails: boolean;
  /** Whether the one that signs for kubelets is told last in Dropping. Who that is, is not in the model: any may be. */
  readonly signerLast: boolean;
  /** How many machines others disturb at a time. */
  readonly disturbedAtOnce: number;
}

/** Everything that the transitions depend on. */
export interface Model {
  readonly shape: Shape;
  readonly rules: Rules;
}
