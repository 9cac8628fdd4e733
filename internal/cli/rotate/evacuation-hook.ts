import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { EvacuationHook, HookCall } from '../../controller/index.ts';
import { CliError } from '../cli-error.ts';
import { KEPT_BYTES, lastWords } from './hook-output.ts';

/** How long one call may take. Nothing else is done meanwhile, so a hook whose work takes longer answers `NOT_YET`. */
const TIMEOUT_MS = 30_000;

/** How long the pipes of a program that has ended may stay open: what left its process group may still hold them. */
const PIPES_MS = 1_000;

/** Ask again: EX_TEMPFAIL of sysexits.h. */
const NOT_YET = 75;

/**
 * Runs the program and kills its whole process group, this shell with it, when the other end of descriptor 3 is gone:
 * that is how `ichor` has ended where it could not say so any more (kill -9, out of memory).
 */
const GUARD = `"$@" 3<&- &
program=$!
exec >/dev/null 2>&1
{ read -r line <&3; kill -KILL 0; } &
wait "$program"`;

/** Where and for whom hooks run. */
export interface HookOptions {
  /** The environment that they get, without what is ours in it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The cluster directory, in which they start. */
  readonly directory: string;
  /** Aborts when the person wants to leave: the program is killed at once, and asked again by the next run. */
  readonly signal: AbortSignal;
  /** For tests. */
  readonly timeoutMs?: number;
}

type Answer = Awaited<ReturnType<EvacuationHook['ask']>>;

/** Runs evacuation hooks as programs of this host; `docs/reference/cli.md` has their contract. */
export function createEvacuationHook(options: HookOptions): EvacuationHook {
  return {
    async ask(call) {
      const problem = await whyNotRunnable(call.program);
      return problem === undefined ? await run(call, options) : { outcome: 'Refused', found: problem };
    },
  };
}

/** Refuses a program that could not be run, before anything is begun with it. Errors: `usage`. */
export async function checkHook(program: string): Promise<void> {
  const problem = await whyNotRunnable(program);
  if (problem === undefined) return;
  throw new CliError('usage', `--evacuation-hook: ${program} ${problem}`, 'Nothing was done.');
}

async function whyNotRunnable(program: string): Promise<string | undefined> {
  try {
    if (!(await stat(program)).isFile()) return 'is no file';
    await access(program, constants.X_OK);
    return undefined;
  } catch (error) {
    return `cannot be executed: ${(error as NodeJS.ErrnoException).code ?? String(error)}`;
  }
}

function run(call: HookCall, options: HookOptions): Promise<Answer> {
  const { timeoutMs = TIMEOUT_MS, signal } = options;
  const child = spawn('/bin/sh', ['-c', GUARD, 'ichor', call.program, call.call, call.node], {
    cwd: options.directory,
    env: environmentOf(call, options),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // A process group of its own: Ctrl-C does not reach it, and it can be killed as a whole.
    detached: true,
  });
  const printed = keepEnd(child);
  let why: Answer | undefined;
  const stop = (answer: Answer): void => {
    why ??= answer;
    killGroup(child);
  };
  const onLeaving = (): void => stop({ outcome: 'NotYet', found: 'it was stopped because ichor was told to leave' });
  const timer = setTimeout(() => {
    const found = `it had not ended after ${timeoutMs / 1_000} s and was killed`;
    stop({ outcome: 'Refused', found: withWords(found, printed()) });
  }, timeoutMs);
  signal.addEventListener('abort', onLeaving, { once: true });
  if (signal.aborted) onLeaving();
  return ended(child)
    .then((how) => why ?? answerOf(how, printed()))
    .finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onLeaving);
    });
}

/** Our own variables are not for it: `ICHOR_PASSPHRASE` opens the bundle. */
function environmentOf(call: HookCall, { env, directory }: HookOptions): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('ICHOR_'));
  const kubeconfig = join(directory, 'kubeconfig');
  return {
    ...Object.fromEntries(others),
    ICHOR_OPERATION: call.operation,
    ICHOR_MACHINE: call.machine,
    ICHOR_ADDRESS: call.address,
    ICHOR_NODE: call.node,
    ...(existsSync(kubeconfig) ? { ICHOR_KUBECONFIG: kubeconfig } : {}),
  };
}

/** Keeps the end of what it prints to either stream, in the order in which it comes. */
function keepEnd({ stdout, stderr }: ChildProcess): () => string {
  let kept = Buffer.alloc(0);
  let isCut = false;
  const keep = (chunk: Buffer): void => {
    const all = Buffer.concat([kept, chunk]);
    isCut ||= all.length > KEPT_BYTES;
    kept = all.subarray(-KEPT_BYTES);
  };
  stdout?.on('data', keep);
  stderr?.on('data', keep);
  // Of a line that was cut nobody can tell what it was.
  return () => kept.toString('utf8').replace(isCut ? /^[^\n]*/ : '', '');
}

type HowEnded = { readonly code: number | null; readonly signal: NodeJS.Signals | null } | { readonly error: Error };

function ended(child: ChildProcess): Promise<HowEnded> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ error }));
    child.on('exit', (code, signal) => {
      // What the program has left behind, and what the guard would otherwise hold open for a second.
      killGroup(child);
      const timer = setTimeout(() => {
        for (const pipe of child.stdio) pipe?.destroy();
      }, PIPES_MS);
      child.on('close', () => {
        clearTimeout(timer);
        resolve({ code, signal });
      });
    });
  });
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // Nobody is left in it, or (EPERM, on macOS) only who has ended already.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

function answerOf(how: HowEnded, printed: string): Answer {
  if ('error' in how) return { outcome: 'Refused', found: `it cannot be run: ${how.error.message}` };
  if (how.code === 0) return { outcome: 'Done', found: withWords('exit code 0', printed) };
  if (how.code === NOT_YET) return { outcome: 'NotYet', found: withWords(`exit code ${NOT_YET}`, printed) };
  const found = how.code === null ? `ended by ${how.signal ?? 'a signal'}` : `exit code ${how.code}`;
  return { outcome: 'Refused', found: withWords(found, printed) };
}

function withWords(found: string, printed: string): string {
  const words = lastWords(printed);
  return words === '' ? found : `${found}: ${words}`;
}
