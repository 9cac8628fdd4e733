import { writeFileSync } from 'node:fs';
import { createSystemClock } from '../../pkg/clock/index.ts';
import { type Control, serveControl } from './control-server.ts';
import { type Lab, type LabOptions, startLab } from './lab.ts';
import { claimDirectory, crashPath, releaseDirectory, watchDirectory } from './lab-directory.ts';
import type { LabStatus } from './status.ts';

/** A lab that others can ask over its control socket, and that leaves nothing behind. */
export interface OpenLab extends AsyncDisposable {
  readonly lab: Lab;
  /** Whether what an earlier lab had left in the directory was removed. */
  readonly cleaned: boolean;
  /** Resolves when somebody asks it to end, or its directory is gone. It must be closed then. */
  readonly ended: Promise<void>;
  /** Ends everything, and removes everything of it from the directory. */
  close(): Promise<void>;
}

/** Takes the directory, starts a lab in it and listens on its control socket. Errors: {@link LabError}. */
export async function openLab(options: LabOptions): Promise<OpenLab> {
  const { directory } = options;
  const { cleaned } = await claimDirectory(directory, (options.clock ?? createSystemClock()).now());
  const ended = Promise.withResolvers<void>();
  let lab: Lab | undefined;
  let control: Control | undefined;
  let unwatch: (() => void) | undefined;
  const close = async (): Promise<void> => {
    unwatch?.();
    await lab?.close();
    // The files go before the socket: who waits for its end finds nothing of the lab.
    await releaseDirectory(directory);
    await control?.close();
  };
  try {
    lab = await startLab(options);
    control = await serveControl(lab, () => ended.resolve());
    unwatch = watchDirectory(directory, () => ended.resolve());
    return { lab, cleaned, ended: ended.promise, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** How a lab is run by a process that does nothing else. */
export interface RunLabOptions extends LabOptions {
  /** Ends the lab. */
  readonly signal: AbortSignal;
  /** Called once, when everything answers. */
  readonly onReady: (status: LabStatus, cleaned: boolean) => void;
}

/**
 * Runs a lab until it is asked to end over its control socket, `signal` aborts, or
 * its directory is removed; then nothing of it is left, in the directory neither.
 * Errors: {@link LabError}.
 */
export async function runLab(options: RunLabOptions): Promise<void> {
  await using open = await openLab(options);
  const { directory, signal } = options;
  // Nobody reads what a process in the background says: the next who asks is told where it stands.
  const onCrash = (error: Error): void =>
    writeFileSync(crashPath(directory), `${error.stack ?? error.message}\n`, { mode: 0o600 });
  process.once('uncaughtExceptionMonitor', onCrash);
  options.onReady(open.lab.status(), open.cleaned);
  const left = Promise.withResolvers<void>();
  const onAbort = (): void => left.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  await Promise.race([open.ended, left.promise]);
  signal.removeEventListener('abort', onAbort);
  process.off('uncaughtExceptionMonitor', onCrash);
}
