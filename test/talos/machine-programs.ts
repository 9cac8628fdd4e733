import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { isFrozen } from '../support/frozen.ts';
import { type CgroupVersion, cgroupProcesses, kill } from './host/cgroups.ts';
import { waitFor } from './wait.ts';

/** The programs that run on a machine, as the host sees them. */
export interface MachinePrograms {
  pids(program: string): number[];
  freeze(program: string): Promise<number>;
  thaw(program?: string): number;
  /** The first process of the machine's PID namespace, if it has booted. */
  init(): number | undefined;
}

/** Finds the programs of the machine with that control group. */
export function programsOf(name: string, group: string, cgroups: CgroupVersion): MachinePrograms {
  const all = () => cgroupProcesses(cgroups, group);
  const pids = (program: string) => all().filter((pid) => isProgram(pid, program));
  return {
    pids,
    async freeze(program) {
      const found = pids(program);
      if (found.length === 0) throw new Error(`no process of ${program} runs on ${name}`);
      for (const pid of found) kill(pid, 'SIGSTOP');
      await waitFor(`${program} on ${name} to stop`, 60_000, () => found.every(isFrozen), 10);
      return found.length;
    },
    thaw(program) {
      const frozen = (program === undefined ? all() : pids(program)).filter(isFrozen);
      for (const pid of frozen) kill(pid, 'SIGCONT');
      return frozen.length;
    },
    init: () => pids('machined').find((pid) => /^NSpid:\t\d+\t1$/m.test(read(`/proc/${pid}/status`))),
  };
}

/** Whether a process runs that program, by the name that it was started under or the file that it is. */
function isProgram(pid: number, program: string): boolean {
  const started = read(`/proc/${pid}/cmdline`).split('\0')[0] ?? '';
  if (basename(started) === program) return true;
  const file = basename(readLink(`/proc/${pid}/exe`));
  return file === program || file === `${program}.real` || (program === 'machined' && started === '/sbin/init');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
