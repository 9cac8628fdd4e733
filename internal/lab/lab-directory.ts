import { existsSync } from 'node:fs';
import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../pkg/files/index.ts';
import { createProcesses, type ProcessIdentity } from '../store/index.ts';
import { LabError } from './lab-error.ts';
import { writePrivate } from './private-file.ts';

/** What stands in a directory while a lab runs there, for whoever comes later. */
export interface LabRecord {
  readonly process: ProcessIdentity;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Whether the lab made the directory, and takes it away again. */
  readonly madeDirectory: boolean;
}

/** Folder of a lab's own files in its directory. */
export function labFolder(directory: string): string {
  return join(directory, 'lab');
}

function recordPath(directory: string): string {
  return join(labFolder(directory), 'lab.json');
}

/** Where the process of a lab says why it ended by a mistake of its own. */
export function crashPath(directory: string): string {
  return join(labFolder(directory), 'crash.txt');
}

/** What a cluster directory can hold: made by the lab, or by ichor while it worked on the lab. */
const CLUSTER_FILES =
  /^(secrets\.yaml|secrets\.previous-[0-9a-f]{12}\.yaml|(key)?rotation\.yaml|(talosconfig|kubeconfig)(\.new|\.old)?|audit\.jsonl|operations|archive|lock|lab|\..+\.tmp)$/;

/** Who runs a lab in a directory, and whether that process lives. */
export async function readLabRecord(
  directory: string,
): Promise<{ readonly record: LabRecord; readonly isAlive: boolean } | undefined> {
  let text: string;
  try {
    text = await readFile(recordPath(directory), 'utf8');
  } catch {
    return undefined;
  }
  const record = JSON.parse(text) as LabRecord;
  return { record, isAlive: createProcesses().liveness(record.process) !== 'dead' };
}

/** How a directory was taken. */
export interface Claim {
  /** Whether what an earlier lab left behind was removed: its process had ended without doing so. */
  readonly cleaned: boolean;
}

/**
 * Takes a directory for a lab of this process: it must be empty, hold nothing of a
 * cluster, or hold what a lab left behind whose process is dead, which is removed.
 * Errors: `refused` where a lab runs there; `directory` where another cluster is.
 */
export async function claimDirectory(directory: string, now: number): Promise<Claim> {
  const found = await readLabRecord(directory);
  if (found?.isAlive === true) {
    throw new LabError(
      'refused',
      `a lab runs in ${directory} already (process ${found.record.process.pid} on ${found.record.process.host})`,
      'Look at it with ichor lab status, or end it with ichor lab down.',
    );
  }
  const isThere = existsSync(directory);
  if (found !== undefined) await removeFiles(directory);
  else await refuseClusters(directory, isThere);
  await makeFolder(labFolder(directory));
  const record: LabRecord = {
    process: createProcesses().self(),
    startedAt: new Date(now).toISOString(),
    madeDirectory: found?.record.madeDirectory ?? !isThere,
  };
  await writePrivate(recordPath(directory), `${JSON.stringify(record, undefined, 2)}\n`);
  return { cleaned: found !== undefined };
}

async function refuseClusters(directory: string, isThere: boolean): Promise<void> {
  const names = isThere ? await readdir(directory) : [];
  const held = names.filter((name) => CLUSTER_FILES.test(name) && name !== 'lab');
  if (held.length === 0) return;
  throw new LabError(
    'directory',
    `${directory} holds ${held.join(', ')} of a cluster that is no lab; expected a new or an empty directory`,
    'A lab removes its files when it ends. Name another directory; a rehearsal takes this one with --from.',
  );
}

/**
 * Removes everything of this process's lab, or of one whose process is dead, and
 * the directory where the lab made it and nothing else is in it. Nothing happens
 * where no lab is, or one of another process.
 */
export async function releaseDirectory(directory: string): Promise<void> {
  const found = await readLabRecord(directory);
  if (found === undefined || (found.isAlive && !isOurs(found.record))) return;
  await removeFiles(directory);
  if (found.record.madeDirectory) await rmdir(directory).catch(() => undefined);
}

/**
 * Whether everything of the lab with this record is gone from its directory. The
 * record itself goes before the folder that it is in, and that before the directory.
 */
export async function isReleased(directory: string, { madeDirectory }: LabRecord): Promise<boolean> {
  const names = await readdir(directory).catch(() => undefined);
  if (names === undefined) return true;
  if (names.some((name) => CLUSTER_FILES.test(name))) return false;
  // An empty one that the lab made is about to go; one that holds something else stays.
  return !madeDirectory || names.length > 0;
}

function isOurs({ process: other }: LabRecord): boolean {
  const self = createProcesses().self();
  return other.host === self.host && other.pid === self.pid && other.startedAt === self.startedAt;
}

async function removeFiles(directory: string): Promise<void> {
  const names = await readdir(directory).catch((): string[] => []);
  // The record goes last: whoever is interrupted here is finished by the next start.
  const ordered = [...names.filter((name) => name !== 'lab'), ...names.filter((name) => name === 'lab')];
  for (const name of ordered) {
    if (CLUSTER_FILES.test(name)) await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** How often a lab looks whether its directory is still there. */
const LOOK_MS = 1_000;

/** Calls `gone` once when the directory, or this process's record in it, is not there any more. */
export function watchDirectory(directory: string, gone: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  async function look(): Promise<void> {
    const found = await readLabRecord(directory).catch(() => undefined);
    if (isOver) return;
    if (found === undefined || !isOurs(found.record)) gone();
    else plan();
  }
  function plan(): void {
    timer = setTimeout(() => void look(), LOOK_MS);
  }
  plan();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
