import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedStore } from '../../store/index.ts';

/** How long a rotation was in one stage. */
export interface StageTime {
  readonly stage: string;
  readonly ms: number;
}

/** Looks at the operation in a directory until it is stopped. */
export interface StageWatch {
  /** The stages that were left, and the one of now. */
  stop(): Promise<readonly StageTime[]>;
}

const LOOK_MS = 200;

/** Notes when the newest operation of a cluster directory enters each stage. */
export function watchStages(directory: string): StageWatch {
  const begun: { readonly stage: string; readonly at: number }[] = [];
  let stopped = false;
  async function look(): Promise<void> {
    const store = await openEmbeddedStore({ directory });
    while (!stopped) {
      const operations = await store.listOperations();
      const stage = operations.at(-1)?.status.stage;
      if (stage !== undefined && stage !== begun.at(-1)?.stage) begun.push({ stage, at: performance.now() });
      await sleep(LOOK_MS);
    }
  }
  const looking = look();
  return {
    async stop() {
      stopped = true;
      await looking;
      const end = performance.now();
      return begun.map(({ stage, at }, index) => ({
        stage,
        ms: Math.round((begun[index + 1]?.at ?? end) - at),
      }));
    },
  };
}
