import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sayOnStderr } from './clock-lines.ts';
import { type LockOwner, ownerNow, ownerRuns } from './lock.ts';

const PREFIX = 'ichor-tests-';
const OWNER = 'owner.json';

/** The temporary directory of one test run. */
export interface TemporaryDirectory {
  readonly path: string;
  /** Removes it; answers the names of what was still in it. */
  remove(): string[];
}

/**
 * Makes a directory in `parent` for all that the tests of this run put into the
 * temporary directory: a test that is stopped in the middle removes nothing, and
 * what it leaves holds keys. What killed runs left of theirs is removed as well.
 */
export function makeTemporaryDirectory(parent: string): TemporaryDirectory {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(PREFIX) && isAbandoned(join(parent, name))) {
      rmSync(join(parent, name), { recursive: true, force: true });
    }
  }
  const path = mkdtempSync(join(parent, PREFIX));
  writeFileSync(join(path, OWNER), JSON.stringify(ownerNow('running the tests')), { mode: 0o600 });
  return {
    path,
    remove() {
      const left = readdirSync(path).filter((name) => name !== OWNER);
      rmSync(path, { recursive: true, force: true });
      return left;
    },
  };
}

/** Whether the process that made it has ended; not where that cannot be told. */
function isAbandoned(path: string): boolean {
  try {
    return ownerRuns(JSON.parse(readFileSync(join(path, OWNER), 'utf8')) as LockOwner) === false;
  } catch {
    // Its process is writing it, or is removing it.
    return false;
  }
}

/** Global set-up of every run; what it answers is called at the end of the run. */
export function setup(): () => void {
  const directory = makeTemporaryDirectory(tmpdir());
  // Worker processes take it over from here.
  process.env.TMPDIR = directory.path;
  return () => {
    const left = directory.remove();
    if (left.length > 0) sayOnStderr(`tests left in the temporary directory, now removed: ${left.join(', ')}`);
  };
}
