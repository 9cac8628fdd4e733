import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import type { AuditLine } from './audit.ts';
import type { Checks } from './checks.ts';
import type { Ichor } from './ichor.ts';
import type { Machine, Readings } from './readings.ts';

/** One thing that was looked at: what should be, whether it is, and what was found. */
export interface Check {
  readonly what: string;
  readonly ok: boolean;
  readonly found: string;
}

/** How a step ended; `not-done` says why in `why`. */
export type Outcome = 'passed' | 'failed' | 'not-done';

/** One step, as the report shows it. */
export interface StepReport {
  readonly id: string;
  readonly title: string;
  /** The steps of the two hardware verification lists that it stands for. */
  readonly stands: readonly string[];
  readonly outcome: Outcome;
  readonly why?: string;
  readonly startedAt: string;
  readonly tookMs: number;
  readonly checks: readonly Check[];
  /** What was measured on the way; no judgement. */
  readonly figures: Readonly<Record<string, string | number>>;
}

/** Everything that one run found. Holds names, versions, fingerprints and counts; no key, no token, no output of a program. */
export interface LaneReport {
  readonly format: 'ichor-lane/1';
  readonly startedAt: string;
  readonly endedAt: string;
  readonly outcome: 'passed' | 'failed' | 'incomplete';
  readonly ichor: string;
  readonly machines: readonly {
    readonly name: string;
    readonly role: string;
    readonly talos: string;
    readonly kubelet: string;
  }[];
  readonly steps: readonly StepReport[];
}

/** How one machine is switched off and on from outside; absent where nobody told us. */
export interface Power {
  off(machine: string): Promise<void>;
  on(machine: string): Promise<void>;
}

/** What a step works with. */
export interface LaneContext {
  /** The cluster directory. */
  readonly directory: string;
  /** Where the report and the snapshots go. */
  readonly reports: string;
  readonly machines: readonly Machine[];
  readonly readings: Readings;
  readonly ichor: Ichor;
  readonly clock: Clock;
  /** The audit trail of the directory, as it is now. */
  audit(): Promise<readonly AuditLine[]>;
  /** The bundle of the directory as it is now, or another file that is closed in the same way. */
  bundle(path?: string): Promise<SecretsBundle>;
  readonly power: Power | undefined;
  /** A question to the person at the terminal; absent where nobody is there. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** One line for the person who watches. */
  say(line: string): void;
  /** What earlier steps left for later ones. */
  readonly memory: LaneMemory;
}

/** Notes of the first step, which later ones compare with. */
export interface LaneMemory {
  configMap?: string;
  snapshot?: { readonly path: string; readonly sha256: string };
  etcdCa?: string;
}

/** One step of the lane. */
export interface Step {
  readonly id: string;
  readonly title: string;
  readonly stands: readonly string[];
  /** What it does to the cluster, as the question before it says; absent: it only reads. */
  readonly disturbs?: string;
  /** Steps that must have passed before; without them it has nothing to look at. */
  readonly needs?: readonly string[];
  run(context: LaneContext, checks: Checks): Promise<void>;
}

/** Thrown by a step that cannot be done here, with the reason for the report; it is no failure. */
export class NotDone extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'NotDone';
  }
}
