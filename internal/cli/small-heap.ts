import { existsSync } from 'node:fs';

/** What is needed of `process`. */
export type Host = Pick<NodeJS.Process, 'argv' | 'env' | 'execArgv' | 'execPath'> & {
  readonly execve?: (file: string, args: readonly string[], env: NodeJS.ProcessEnv) => void;
};

/** Commands that run for as long as a rotation does. */
const LONG: ReadonlySet<string> = new Set(['cluster rotate-ca', 'operation delete']);

/**
 * The young generation of V8 grows to 67 MB under a rotation's garbage, more than
 * all that a rotation holds, and the old one to twice what lives before it is
 * collected for the first time. Measured over rotations of all four CAs of a real
 * 3+1: 129 MB at most with these flags, 153 with the first alone, 305 from sources
 * without any. V8
 * reads these limits when it starts and ignores them later, and `#!` lines cannot
 * carry them everywhere.
 */
const FLAGS = ['--max-semi-space-size=4', '--initial-old-space-size=16', '--heap-growing-percent=25'];

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
  host.execve(host.execPath, [host.execPath, ...FLAGS, ...host.execArgv, ...args], host.env);
}
