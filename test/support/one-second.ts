import { performance } from 'node:perf_hooks';

/** What something gave, and how long it took, ms. */
export function timed<T>(run: () => T): { readonly result: T; readonly ms: number } {
  const begin = performance.now();
  const result = run();
  return { result, ms: performance.now() - begin };
}

/** One second on a machine that does nothing else, ms; measured against plain work, so that a loaded machine does not fail. */
export function oneSecond(): number {
  const { ms } = timed(() => {
    let sum = 0;
    for (let n = 0; n < 30_000_000; n++) sum += n % 7;
    return sum;
  });
  return 1000 * Math.max(1, ms / 60);
}
