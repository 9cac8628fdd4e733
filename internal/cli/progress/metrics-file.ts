import { rename, rm, writeFile } from 'node:fs/promises';
import { CliError } from '../cli-error.ts';

/** A file with metrics that a collector reads whenever it likes (node exporter's textfile collector). */
export interface MetricsFile {
  /** Replaces what it holds. A file that cannot be written any more is said once, and never keeps a rotation. */
  write(text: string): Promise<void>;
}

/**
 * Begins a metrics file. Readable by everybody: it holds names and numbers alone, and its reader is another user.
 *
 * @throws {CliError} `usage` where it cannot be written, while nothing has begun
 */
export async function openMetricsFile(path: string, say: (line: string) => void): Promise<MetricsFile> {
  let isSaid = false;
  await replace(path, '').catch((error: unknown) => {
    throw new CliError(
      'usage',
      `--metrics-file: ${path} cannot be written: ${(error as Error).message}`,
      'Nothing was done.',
    );
  });
  return {
    async write(text) {
      try {
        await replace(path, text);
        isSaid = false;
      } catch (error) {
        if (!isSaid) say(`the metrics in ${path} are out of date: ${(error as Error).message}`);
        isSaid = true;
      }
    },
  };
}

/** A collector that reads in this moment gets the one or the other, whole. */
async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, text, { mode: 0o644 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
