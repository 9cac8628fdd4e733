import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../pkg/clock/index.ts';

/** One line of `audit.jsonl`, as docs/reference/cluster-folder.md describes it: an effect before it was sent, or after. */
export interface AuditLine {
  readonly operation: string;
  readonly stage: string;
  readonly effect: string;
  readonly machine?: string;
  readonly phase: 'before' | 'after';
  readonly outcome?: string;
}

/** The trail of a cluster directory; empty where there is none, and without a last line that is still being written. */
export async function readAudit(directory: string): Promise<readonly AuditLine[]> {
  let text: string;
  try {
    text = await readFile(join(directory, 'audit.jsonl'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as AuditLine];
    } catch {
      return [];
    }
  });
}

/** How one waits for an entry of the trail. */
export interface AuditWait {
  readonly audit: () => Promise<readonly AuditLine[]>;
  readonly clock: Clock;
  /** Entries up to here are not looked at. */
  readonly seen: number;
  readonly fits: (line: AuditLine) => boolean;
  /** Ends the wait: the process that writes the trail has ended. */
  readonly over: () => boolean;
}

/** How often the trail is read. A kill between the marker and the call has to come within the time of one call. */
const LOOK_MS = 10;

/** The first entry that fits, or `undefined` when the process ended without one. */
export async function untilAudit({ audit, clock, seen, fits, over }: AuditWait): Promise<AuditLine | undefined> {
  for (;;) {
    const wasOver = over();
    const found = (await audit()).slice(seen).find(fits);
    if (found !== undefined || wasOver) return found;
    await clock.sleep(LOOK_MS);
  }
}
