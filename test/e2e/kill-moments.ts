import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry } from '../../internal/controller/index.ts';
import { type IchorProcess, readAudit, startIchor, untilAudit } from './ichor-process.ts';

/** A moment of a rotation that can be told from outside: an entry of the audit trail, or a file that stands in the directory. */
export type Moment =
  | { readonly entry: Partial<Pick<AuditEntry, 'effect' | 'phase' | 'stage' | 'machine'>> }
  | { readonly file: RegExp };

/** The moment in words. */
export function momentText(moment: Moment): string {
  if ('file' in moment) return `${moment.file.source} stands`;
  const { stage, effect, machine, phase } = moment.entry;
  return [stage, effect ?? 'anything', machine, phase].filter((part) => part !== undefined).join(' ');
}

/**
 * Starts `ichor` and kills it with SIGKILL as soon as the moment has come, counted
 * from its start. Errors: where it ends before that, with the last of what it said.
 */
export async function runUntilKilled(directory: string, args: readonly string[], moment: Moment): Promise<void> {
  const seen = readAudit(directory).length;
  const ichor = startIchor(args, { home: directory });
  const came = 'file' in moment ? await untilFile(directory, ichor, moment.file) : await untilEntry(seen);
  ichor.kill9();
  const code = await ichor.ended;
  if (!came) {
    throw new Error(`ichor ended with ${code} before ${momentText(moment)}:\n${ichor.output().slice(-2_000)}`);
  }

  async function untilEntry(after: number): Promise<boolean> {
    if (!('entry' in moment)) return false;
    return (await untilAudit(directory, ichor, after, (entry) => fits(entry, moment.entry))) !== undefined;
  }
}

/** Whether an entry of the trail is what a moment describes. */
export function fits(entry: AuditEntry, wanted: Partial<AuditEntry>): boolean {
  return Object.entries(wanted).every(([key, value]) => entry[key as keyof AuditEntry] === value);
}

async function untilFile(directory: string, ichor: IchorProcess, name: RegExp): Promise<boolean> {
  let over = false;
  const end = () => {
    over = true;
  };
  void ichor.ended.then(end, end);
  for (;;) {
    const ended = over;
    if (readdirSync(directory).some((each) => name.test(each))) return true;
    if (ended) return false;
    await sleep(2);
  }
}
