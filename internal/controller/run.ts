import { StaleOperationError } from '../store/index.ts';
import type { Ports } from './ports.ts';
import type { Engine, Reconciled } from './reconcile.ts';

/** How an operation is followed. */
export interface RunOptions {
  readonly engine: Engine;
  readonly clock: Ports['clock'];
  readonly name: string;
  /** Called after every look; `true` ends the run, as for a hand-off that a person has to take. */
  readonly onLook?: (reconciled: Reconciled) => boolean | Promise<boolean>;
  readonly signal?: AbortSignal;
}

/** Why a run ended. */
export type RunEnd = 'done' | 'gone' | 'stopped' | 'detached';

/** Reconciles one operation until it is over, gone, or somebody asks to stop. Ends only between effects. */
export async function runOperation(options: RunOptions): Promise<RunEnd> {
  const { engine, clock, name, signal } = options;
  for (;;) {
    if (signal?.aborted) return 'detached';
    const reconciled = await look(engine, name);
    if (reconciled === undefined) return 'gone';
    if (reconciled === 'stale') continue;
    if ((await options.onLook?.(reconciled)) === true) return 'stopped';
    if (reconciled.recheckAfterMs === undefined) return 'done';
    try {
      await clock.sleep(reconciled.recheckAfterMs, signal);
    } catch (error) {
      if (signal?.aborted) return 'detached';
      throw error;
    }
  }
}

async function look(engine: Engine, name: string): Promise<Reconciled | 'stale' | undefined> {
  try {
    return await engine.reconcile(name);
  } catch (error) {
    // Somebody paused, deleted or acknowledged it in between: look at what it is now.
    if (error instanceof StaleOperationError) return 'stale';
    throw error;
  }
}
