/** One line of what happened to a machine, or to the cluster. */
export interface LogLine {
  /** RFC 3339. */
  readonly at: string;
  /** `cluster` for what concerns no machine alone. */
  readonly machine: string;
  readonly line: string;
}

/** The last lines of a lab. */
export interface Logs {
  add(machine: string, line: string): void;
  /** Of one machine, or of all. */
  of(machine: string | undefined): readonly LogLine[];
  /** Calls `listener` for every line from now on, until the result is called. */
  follow(listener: (line: LogLine) => void): () => void;
}

/** How many lines a lab remembers. */
const KEPT = 5_000;

/** Logs that start empty. */
export function createLogs(now: () => number): Logs {
  const lines: LogLine[] = [];
  const listeners = new Set<(line: LogLine) => void>();
  return {
    add(machine, text) {
      const line = { at: new Date(now()).toISOString(), machine, line: text };
      lines.push(line);
      if (lines.length > KEPT) lines.shift();
      for (const listener of listeners) listener(line);
    },
    of: (machine) => lines.filter((line) => machine === undefined || line.machine === machine),
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
