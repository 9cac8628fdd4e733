import { constants } from 'node:os';
import { type Say, sayOnStderr } from './clock-lines.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** One Ctrl-C comes twice under `npm run`: from the terminal, and from npm, which hands on its own. */
const SAME_SIGNAL_MS = 1_000;

/** What a program makes that must not outlive it, though the program may be told to end at any moment. */
export interface Leaving {
  /** Fires when the program is told to end: what is only being made is then given up. */
  readonly signal: AbortSignal;
  /**
   * Waits until something is made, and takes it down at the end of the program. Told to end while it is made, the
   * program waits for whoever makes it: they alone know what is there of it.
   */
  keep<T extends AsyncDisposable>(making: Promise<T>): Promise<T>;
}

/**
 * Does the work of a program and takes down what it keeps, the last first: when the work is done, when it fails, and on
 * SIGINT and SIGTERM, which end the process with 130 and 143. The work itself is not waited for then: it may be in the
 * middle of half an hour. A second signal, a second later or more, ends the process at once.
 */
export async function takingDown<T>(work: (leaving: Leaving) => Promise<T>, say: Say = sayOnStderr): Promise<T> {
  const told = new AbortController();
  const kept: (() => Promise<void>)[] = [];
  let ending: Promise<void> | undefined;
  let toldAt = 0;
  const end = (): Promise<void> => {
    // Told to end while it ends by itself, it goes on with that.
    ending ??= takeDown(kept);
    return ending;
  };
  const leave = (signal: (typeof SIGNALS)[number]): void => {
    const code = 128 + constants.signals[signal];
    if (told.signal.aborted) {
      if (performance.now() - toldAt >= SAME_SIGNAL_MS) process.exit(code);
      return;
    }
    toldAt = performance.now();
    say(`${signal}: taking down what was made; once more ends at once and leaves it`);
    told.abort(new Error(`${signal} ended this program`));
    const exit = () => process.exit(code);
    end().then(exit, (error: unknown) => {
      say(`error: not everything could be taken down: ${error instanceof Error ? error.message : String(error)}`);
      exit();
    });
  };
  const keep: Leaving['keep'] = async (making) => {
    // Where it could not be made, nothing was left of it.
    kept.push(async () => (await making.catch(() => undefined))?.[Symbol.asyncDispose]());
    const made = await making;
    told.signal.throwIfAborted();
    return made;
  };
  for (const signal of SIGNALS) process.on(signal, leave);
  try {
    return await work({ signal: told.signal, keep });
  } catch (error) {
    // What the work lives on is being taken away: that it fails says nothing, and the process ends right after.
    if (told.signal.aborted) await new Promise<never>(() => undefined);
    throw error;
  } finally {
    await end();
    for (const signal of SIGNALS) process.off(signal, leave);
  }
}

/** Everything is tried; throws the first thing that went wrong. */
async function takeDown(kept: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const dispose of kept.toReversed()) await dispose().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

/** Waits for something that only looks, until the signal fires; what is waited for then goes on, and nobody hears of it. */
export async function unlessAborted<T>(waiting: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return waiting;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([waiting, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Undoes something when this process ends before it is disposed of: for what `undo` alone, at once, can take away. */
export function atExit(undo: () => void): Disposable {
  process.once('exit', undo);
  return { [Symbol.dispose]: () => process.off('exit', undo) };
}
