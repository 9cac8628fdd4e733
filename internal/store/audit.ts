import { dirname } from 'node:path';
import { z } from 'zod';
import { fromFileSystem } from './error.ts';
import type { StoreFileSystem } from './file-system.ts';
import type { AuditEntry } from './store.ts';

const Entry = z.strictObject({
  time: z.string(),
  operation: z.string(),
  stage: z.string(),
  effect: z.string(),
  machine: z.string().optional(),
  machines: z.array(z.string()).optional(),
  phase: z.enum(['before', 'after']),
  outcome: z.enum(['ok', 'refused', 'unknown']).optional(),
  message: z.string(),
});

/** Adds one line to the trail, durably. A line that a crash tore is closed first, so that it spoils only itself. */
export async function appendAuditEntry(files: StoreFileSystem, path: string, entry: AuditEntry): Promise<void> {
  try {
    const before = await files.read(path);
    const isTorn = before !== undefined && before.length > 0 && before.at(-1) !== 0x0a;
    await files.append(path, Buffer.from(`${isTorn ? '\n' : ''}${JSON.stringify(entry)}\n`));
    // The name of a new file is durable only with its folder.
    if (before === undefined) await files.syncDirectory(dirname(path));
  } catch (cause) {
    // Some bytes of the line may be there.
    throw fromFileSystem(cause, path, { doing: 'write the audit trail', outcome: 'unknown' });
  }
}

/** The trail, oldest first. Lines that are no entry are counted, not refused: a crash may have torn one. */
export function parseAudit(bytes: Uint8Array | undefined): { entries: AuditEntry[]; torn: number } {
  const entries: AuditEntry[] = [];
  let torn = 0;
  for (const line of Buffer.from(bytes ?? [])
    .toString('utf8')
    .split('\n')) {
    if (line === '') continue;
    const parsed = Entry.safeParse(parseJson(line));
    if (parsed.success) entries.push(parsed.data as AuditEntry);
    else torn += 1;
  }
  return { entries, torn };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
