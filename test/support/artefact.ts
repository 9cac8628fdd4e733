import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type LockOwner, lock } from './lock.ts';

/** Something that is made once for each key and then kept: a program, a directory of images. */
export interface Artefact {
  /** A path below the cache, such as `tools/etcd`. */
  readonly name: string;
  /** Changes with everything that goes into the artefact. */
  readonly key: string;
  /** Makes the file or directory `out`. What it leaves when it fails is thrown away. */
  make(out: string): Promise<void>;
}

const OLD_MS = 30 * 24 * 3_600_000;

/** Where what is built is kept: `$ICHOR_CACHE`, or `ichor` in the user's cache directory. */
export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const named = env.ICHOR_CACHE;
  if (named) return named;
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'ichor');
}

/** Where the artefact is once it is made. */
export function artefactPath(cache: string, artefact: Pick<Artefact, 'name' | 'key'>): string {
  return join(cache, artefact.name, artefact.key);
}

/**
 * Makes the artefact unless it is there. A name in the cache is always whole:
 * work happens beside it and is renamed. One artefact is made at a time on a
 * machine; a second process waits and finds it made. What a killed run left
 * half made is removed by the next one.
 */
export async function ensureArtefact(
  cache: string,
  artefact: Artefact,
  onWait?: (owner: LockOwner) => void,
): Promise<string> {
  const final = artefactPath(cache, artefact);
  if (existsSync(final)) return final;
  using _building = await lock(join(cache, 'locks', 'build'), {
    purpose: `making ${artefact.name}`,
    ...(onWait && { onWait }),
  });
  if (existsSync(final)) return final;
  const shelf = dirname(final);
  await mkdir(shelf, { recursive: true });
  removeHalfMade(shelf);
  const draft = join(shelf, `.new-${randomUUID()}`);
  try {
    await artefact.make(draft);
    await settle(draft);
    await rename(draft, final);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  await removeOld(shelf, artefact.key);
  return final;
}

function removeHalfMade(shelf: string): void {
  for (const name of readdirSync(shelf)) {
    if (name.startsWith('.new-')) rmSync(join(shelf, name), { recursive: true, force: true });
  }
}

/** A power loss after the rename must not leave an empty file under the final name. */
async function settle(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  const now = new Date();
  await utimes(path, now, now);
}

/** Drops what other pins made more than a month ago, so that the cache does not grow without end. */
async function removeOld(shelf: string, key: string): Promise<void> {
  for (const name of readdirSync(shelf)) {
    if (name === key) continue;
    const path = join(shelf, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > OLD_MS) await rm(path, { recursive: true, force: true });
  }
}
