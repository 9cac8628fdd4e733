import type { CaStage, CaTarget, Reason } from '../../../api/v1alpha1/index.ts';
import type { Fingerprint } from '../../../pkg/pki/index.ts';
import type { Step } from '../context.ts';
import type { Needs, PkiReading, TargetMaterial } from '../observation.ts';

/** A reading that is made only when a target asks for it. */
export type ReadingName = keyof Pick<
  Needs,
  'etcdServed' | 'authentication' | 'rootCa' | 'stalePods' | 'talosAccess' | 'controllerManager'
>;

/** Stages in which machines carry a configuration of their own. */
export type ConfigStage = 'Accepting' | 'Issuing' | 'Dropping';

/** What is asked of one machine. */
export interface ProofInput {
  readonly pki: PkiReading;
  readonly role: 'controlplane' | 'worker';
  readonly stage: ConfigStage;
  readonly material: TargetMaterial;
}

/** One thing that can be replaced, as data: nothing outside `targets/` asks which target it has. */
export interface TargetDescriptor {
  readonly name: CaTarget;
  readonly title: string;
  /** Machines whose configuration holds it. */
  readonly concerns: 'all' | 'controlplane';
  /** Whether the operator's talosconfig or kubeconfig depends on it. */
  readonly handOff: boolean;
  /** Whether Talos restarts kube-apiserver, kube-controller-manager and kube-scheduler for it (`talos-behaviour` 7, rows 7 to 12). */
  readonly restartsApiServer: boolean;
  /** Whether Talos restarts the kubelet for it. */
  readonly restartsKubelet: boolean;
  /** Whether a process reads its trust pool at start only, so that control planes must reboot after a pass. */
  readonly rolled: boolean;
  /**
   * Whether workers drop the old CA before control planes do: where control planes
   * refuse what a worker shows until the worker itself has dropped it (ADR 0009).
   */
  readonly workersDropFirst: boolean;
  /** The CAs that a control plane accepts for it. */
  readonly accepted: (pki: PkiReading) => readonly Fingerprint[];
  /** The CAs that signed what a machine shows for it. */
  readonly shown: (pki: PkiReading) => readonly (Fingerprint | undefined)[];
  /** The CA that a control plane issues with. */
  readonly issuing: (pki: PkiReading) => Fingerprint | undefined;
  /** The key of extension-apiserver-authentication in which kube-apiserver publishes what it accepts. */
  readonly published?: 'requestheader' | 'client';
  /** What the plan says to whoever is about to start. */
  readonly warnings: readonly string[];
  /** What must be read of the cluster in a stage for this target. */
  readonly needs: Readonly<Partial<Record<CaStage, readonly ReadingName[]>>>;
  /** Lowest Talos version that can rotate it, as [major, minor]. */
  readonly minimumTalos: readonly [number, number];
  /** What is said of a machine with an older one. */
  readonly tooOld: Reason;
  /** What the machine runs with instead of this stage's material, or `undefined` when it is proved. */
  readonly prove: (input: ProofInput) => string | undefined;
  /** What else must come true in a stage once every machine is proved. */
  readonly settle: Readonly<Partial<Record<CaStage, readonly Step[]>>>;
}

/** The first twelve digits, which is what messages show. */
export function short(fingerprint: Fingerprint | undefined): string {
  return fingerprint === undefined ? 'nothing' : fingerprint.slice(0, 12);
}

/** Compares an accepted list with a stage: both in Accepting and Issuing, the new one without the old in Dropping. */
export function proveAccepted(what: string, accepted: readonly Fingerprint[], input: ProofInput): string | undefined {
  const { stage, material } = input;
  const wanted = stage === 'Dropping' ? [material.new] : [material.old, material.new];
  const missing = wanted.filter((certificate) => !accepted.includes(certificate.fingerprint));
  const left = stage === 'Dropping' && accepted.includes(material.old.fingerprint);
  if (missing.length === 0 && !left) return undefined;
  const found = accepted.map(short).join(', ') || 'nothing';
  const expected = wanted.map((certificate) => short(certificate.fingerprint)).join(' and ');
  return `${what} accepts ${found}; expected ${expected}${left ? ' alone' : ''}`;
}

/** Compares what issues with a stage: the old CA in Accepting, the new one from Issuing on. */
export function proveIssuing(what: string, issuing: Fingerprint | undefined, input: ProofInput): string | undefined {
  const expected = input.stage === 'Accepting' ? input.material.old.fingerprint : input.material.new.fingerprint;
  return issuing === expected ? undefined : `${what} is issued by ${short(issuing)}; expected ${short(expected)}`;
}
