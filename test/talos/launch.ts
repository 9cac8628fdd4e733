import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type CgroupVersion, cgroupDirectories, makeCgroup } from './host/cgroups.ts';

/** A program that outlives us, in a control group by which it is found again. */
export interface Launch {
  readonly group: string;
  readonly cgroups: CgroupVersion;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where its output goes, appended. */
  readonly log: string;
}

/** Starts a program in a session and control group of its own; answers its process number. */
export function launch({ group, cgroups, command, env, log }: Launch): number {
  makeCgroup(cgroups, group);
  const output = openSync(log, 'a');
  try {
    const child = spawn('bash', [join(import.meta.dirname, 'node/enter.sh'), ...command], {
      detached: true,
      stdio: ['ignore', output, output],
      cwd: '/',
      env: { PATH: process.env.PATH, CGROUPS: cgroupDirectories(cgroups, group).join(' '), ...env },
    });
    child.unref();
    if (child.pid === undefined) throw new Error(`cannot start ${command.join(' ')}`);
    return child.pid;
  } finally {
    closeSync(output);
  }
}
