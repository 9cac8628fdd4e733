/** Fields of one log entry: names, numbers, fingerprints; never key bytes. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where what happens is written for machines to read. */
export interface Logger {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

/** A logger that writes nothing. */
export function createSilentLogger(): Logger {
  return { info: () => undefined, warn: () => undefined, close: async () => undefined };
}
