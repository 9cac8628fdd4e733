import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const LOWEST = 19;

/**
 * Starts a program that takes the processor time that nobody else wants. It is in a
 * session of its own, because Linux divides time between sessions before it looks at
 * priorities (`autogroup`, sched(7)). Standard input stays open for as long as the
 * caller lives; standard output is the caller's to read.
 */
export function startAtLowestPriority(command: readonly string[]): ChildProcess {
  const child = spawn('nice', ['-n', String(LOWEST), ...command], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    writeFileSync(`/proc/${child.pid}/autogroup`, String(LOWEST));
  } catch {
    // A kernel without it has the priority alone, and so has one that could not be started: its `error` says so.
  }
  return child;
}
