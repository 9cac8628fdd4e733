import { open } from 'node:fs/promises';
import type { Logger } from './logger.ts';

/**
 * A logger that appends JSON lines to a file, which is made with mode 0600. pino
 * is loaded here, and only when a log was asked for.
 *
 * @throws Error of the file system when the file cannot be opened
 */
export async function openPinoLogger(file: string): Promise<Logger> {
  // Opened first, so that a folder that is not there is refused here and the mode is ours.
  const handle = await open(file, 'a', 0o600);
  await handle.close();
  const { default: pino } = await import('pino');
  const destination = pino.destination({ dest: file, sync: true });
  const log = pino(
    { base: { program: 'ichor' }, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'event' },
    destination,
  );
  return {
    info: (event, fields) => log.info(fields ?? {}, event),
    warn: (event, fields) => log.warn(fields ?? {}, event),
    close: async () => {
      destination.flushSync();
      destination.end();
    },
  };
}
