import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** What tells one process from every other, also after its number was given to another one. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** Changes with every boot of the host; empty where the system does not say. */
  readonly bootId: string;
  /** The space in which `pid` counts: containers on one host have their own. Empty where the system does not say. */
  readonly pidNamespace: string;
  /** Start of the process in ticks since boot; empty where the system does not say. */
  readonly startedAt: string;
}

/** What can be said of another process. */
export type Liveness = 'alive' | 'dead' | 'unknown';

/** The processes of this host, as far as a lock needs to know them. */
export interface Processes {
  self(): ProcessIdentity;
  /** `dead` is a promise: that process cannot write anything any more. Where that cannot be known: `unknown`. */
  liveness(other: ProcessIdentity): Liveness;
}

/** The processes of the machine that we run on. `proc` is where Linux says what it knows of them; other systems have no such folder. */
export function createProcesses(proc = '/proc'): Processes {
  return {
    self: () => ({
      host: hostname(),
      pid: process.pid,
      bootId: readOr('', () => readFileSync(`${proc}/sys/kernel/random/boot_id`, 'utf8').trim()),
      pidNamespace: readOr('', () => readlinkSync(`${proc}/self/ns/pid`)),
      startedAt: startOf(proc, process.pid),
    }),
    liveness(other) {
      const self = this.self();
      if (other.host !== self.host) return 'unknown';
      const areBootsKnown = other.bootId !== '' && self.bootId !== '';
      // Another boot of this very host: nothing of that time runs any more.
      if (areBootsKnown && other.bootId !== self.bootId) return 'dead';
      if (other.pidNamespace !== self.pidNamespace) return 'unknown';
      if (!exists(other.pid)) return 'dead';
      // The number is taken. By whom, only boot and start together tell: numbers begin anew with every boot.
      const startedAt = startOf(proc, other.pid);
      if (!areBootsKnown || startedAt === '' || other.startedAt === '') return 'unknown';
      return startedAt === other.startedAt ? 'alive' : 'dead';
    },
  };
}

/** Field 22 of PID/stat; the second field, the name in parentheses, may hold anything, so it is cut off first. */
function startOf(proc: string, pid: number): string {
  return readOr('', () => {
    const text = readFileSync(`${proc}/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  });
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function readOr(fallback: string, read: () => string): string {
  try {
    return read();
  } catch {
    return fallback;
  }
}
