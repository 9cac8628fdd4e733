import { existsSync } from 'node:fs';

/** What is needed of `process`. */
export type Host = Pick<NodeJS.Process, 'argv' | 'env' | 'execArgv' | 'execPath'> & {
  readonly execve?: (file: string, args: readonly string[], env: NodeJS.ProcessEnv) => void;
};

/** Commands that run for as long as a rotation does. */
const LONG: ReadonlySet<string> = new Set(['cluster rotate-ca', 'operation delete']);

/**
 * The young generation of V8 grows to 67 MB under a rotation's garbage, more than
 * all that a rotation holds; 8 MB of it (two halves of 4) cost no measurable time.
 * V8 reads the limit when it starts and ignores it later, and `#!` lines cannot
 * carry it everywhere.
 */
const FLAG = '--max-semi-space-size=4';

/**
 * Lets a long command begin anew, in the same process, with a small heap. Returns
 * where that is done already, not needed, or not possible (Windows): the command
 * then needs more memory and is otherwise the same.
 */
export function beginWithSmallHeap(host: Host): void {
  const isLong = LONG.has(host.argv.slice(2, 4).join(' '));
  const isSet = [...host.execArgv, host.env.NODE_OPTIONS ?? ''].some((text) => text.includes('-semi-space-size'));
  // A node that was replaced under us could not be started again, and that ends the process.
  if (!isLong || isSet || host.execve === undefined || !existsSync(host.execPath)) return;
  const [, ...args] = host.argv;
  host.execve(host.execPath, [host.execPath, FLAG, ...host.execArgv, ...args], host.env);
}
