import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { startAtLowestPriority } from '../support/lowest-priority.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the end of the complete enumeration is written. */
    readonly enumerationEnd: string;
  }
}

/** How the enumeration ended. */
export interface EnumerationEnd {
  /** 0 where nothing was broken. */
  readonly code: number | null;
  /** What `enumerate.ts` printed: a line for each failure, then the numbers. */
  readonly output: string;
}

/** Past this no plan is begun any more, and the enumeration fails as cut short, s. */
const WITHIN_S = 5_400;

/**
 * Past this a computer is so slow that the rest of the half of 3+2 is left out, which is said, s: 1+0 and 3+0 are
 * gone through whole.
 */
const REST_WITHIN_S = 3_900;

/**
 * Global set-up of the `enumeration` project: begins the complete enumeration with the
 * run and at the lowest priority, because real clusters leave processors idle while they
 * boot. The test, which comes last, waits for the end.
 */
export function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'ichor-enumeration-'));
  const path = join(directory, 'end.json');
  const program = fileURLToPath(new URL('enumerate.ts', import.meta.url));
  const times = ['--seconds', String(WITHIN_S), '--seconds-for-the-rest', String(REST_WITHIN_S)];
  const child = startAtLowestPriority([process.execPath, program, '--while-open', ...times]);
  let output = '';
  const end = (code: number | null): void => {
    if (!existsSync(directory)) return;
    const text = JSON.stringify({ code, output } satisfies EnumerationEnd);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.on('error', (error) => {
    output += error.message;
    end(null);
  });
  child.on('close', end);
  project.provide('enumerationEnd', path);
  return () => {
    // Its shards end with it: each has its standard input from the one above.
    child.stdin?.destroy();
    rmSync(directory, { recursive: true, force: true });
  };
}
