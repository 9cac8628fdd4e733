import { spawn } from 'node:child_process';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LabError } from './lab-error.ts';
import type { LabStatus } from './status.ts';

/** What a lab in the background says when it is ready. */
export interface Launched {
  readonly status: LabStatus;
  /** Whether what an earlier lab had left was removed. */
  readonly cleaned: boolean;
}

/** How long a lab may take to be ready. */
const READY_MS = 60_000;

/**
 * Starts a lab in a process of its own, which outlives this one, and resolves when
 * it is ready. What it says until then becomes the error where it is not.
 */
export async function launchLab(options: {
  /** How ichor is started. */
  readonly program: readonly string[];
  readonly args: readonly string[];
  readonly directory: string;
}): Promise<Launched> {
  const [command = '', ...first] = options.program;
  const folder = await mkdtemp(join(tmpdir(), 'ichor-lab-'));
  const said = join(folder, 'said');
  const log = await open(said, 'w', 0o600);
  try {
    const child = spawn(command, [...first, ...options.args], {
      detached: true,
      stdio: ['ignore', 'ignore', log.fd, 'ipc'],
    });
    const ready = Promise.withResolvers<Launched>();
    const timer = setTimeout(() => ready.reject(late(options.directory)), READY_MS);
    child.once('message', (message) => ready.resolve(message as Launched));
    child.once('error', ready.reject);
    child.once('exit', (code) => {
      const text = readFile(said, 'utf8').catch(() => '');
      void text.then((whole) => ready.reject(failed(code, whole)));
    });
    try {
      const launched = await ready.promise;
      child.removeAllListeners('exit');
      child.disconnect();
      child.unref();
      return launched;
    } catch (error) {
      child.kill();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  } finally {
    await log.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function late(directory: string): LabError {
  return new LabError('refused', `the lab in ${directory} was not ready within ${READY_MS / 1000} s`);
}

/** Exit codes of ichor that say why: see its exit codes. */
const KINDS: Readonly<Record<number, LabError['kind']>> = { 2: 'usage', 6: 'directory' };

function failed(code: number | null, said: string): LabError {
  const [message = '', ...advice] = said.trim().split('\n');
  return new LabError(
    KINDS[code ?? 0] ?? 'refused',
    message.replace(/^error: /, '') || `the lab's process ended with ${code ?? 'a signal'}`,
    advice.length === 0 ? undefined : advice.join('\n'),
  );
}
