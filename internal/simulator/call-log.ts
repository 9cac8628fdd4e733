import type { CaStage } from '../../api/v1alpha1/index.ts';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';

/** A configuration that was sent, and to whom. */
export interface Sent {
  /** Whom the product meant. */
  readonly machine: string;
  /** Who was there. */
  readonly reached: string;
  /** CA of the certificate that was shown. */
  readonly issuer: Fingerprint;
  /** CAs that the product would have taken it from. */
  readonly trust: readonly Certificate[];
}

/** A reboot that a program of ours asked for. */
export interface AskedReboot {
  readonly machine: string;
  /** Virtual milliseconds. */
  readonly askedAt: number;
  /** When the machine began it, if it did. */
  begunAt: number | undefined;
}

/** A leaf that the product had made. */
export interface Issued {
  readonly subject: string;
  readonly usages: readonly string[];
  readonly validityMs: number;
}

/** The last time that a machine answered a call. */
export interface Read {
  at: number;
  bootId: string;
}

/** What the processes of a run asked for and sent, beyond the calls that change something. */
export interface CallLog {
  /** When each machine was last read over its own API, by the call, and in which boot. */
  readonly reads: Map<string, Map<string, Read>>;
  /** Requests to API servers: method and path, names left out. */
  readonly requests: Set<string>;
  readonly sent: Sent[];
  readonly reboots: AskedReboot[];
  readonly issued: Issued[];
  /** When the write of each stage was asked for; virtual milliseconds. */
  readonly entered: Map<CaStage, number>;
  /** How many calls there had been when the operation was done; undefined before. */
  callsAtDone: number | undefined;
  askToReboot(machine: string, at: number): AskedReboot;
  /** The reads of one machine, to be noted in. */
  readsOf(machine: string): Map<string, Read>;
}

/** An empty one. */
export function createCallLog(): CallLog {
  const reads: CallLog['reads'] = new Map();
  const reboots: AskedReboot[] = [];
  return {
    reads,
    requests: new Set(),
    sent: [],
    reboots,
    issued: [],
    entered: new Map(),
    callsAtDone: undefined,
    askToReboot(machine, askedAt) {
      const asked = { machine, askedAt, begunAt: undefined };
      reboots.push(asked);
      return asked;
    },
    readsOf(machine) {
      const known = reads.get(machine);
      if (known !== undefined) return known;
      const mine = new Map<string, Read>();
      reads.set(machine, mine);
      return mine;
    },
  };
}
