import { readdirSync, readFileSync } from 'node:fs';

/**
 * Whether every thread of a process is stopped (state `T` of proc(5)): after SIGSTOP they
 * stop one after the other, and one that still runs may answer. False for one that is gone.
 */
export function isFrozen(pid: number): boolean {
  const threads = list(`/proc/${pid}/task`);
  return threads.length > 0 && threads.every((thread) => isStopped(`/proc/${pid}/task/${thread}/stat`));
}

/** A thread that ended since it was listed does nothing either. */
function isStopped(path: string): boolean {
  try {
    const stat = readFileSync(path, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
  } catch {
    return true;
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
