/** Writes one progress line; tests collect them instead. */
export type Say = (line: string) => void;

/** Says lines on standard error with the time of day, as every command of the harness does. */
export function sayOnStderr(line: string): void {
  process.stderr.write(`[${new Date().toTimeString().slice(0, 8)}] ${line}\n`);
}

/** A duration as people read it: `42 s`, `3 min 5 s`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Says `what` again every half minute with the time that has passed, until disposed. */
export function keepSaying(say: Say, what: string): Disposable {
  const begin = Date.now();
  const timer = setInterval(() => say(`${what}: ${duration(Date.now() - begin)} so far`), 30_000);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
