import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry } from '../../internal/controller/index.ts';
import { builtIchor } from '../support/built-ichor.ts';
import { atExit } from '../support/leaving.ts';
import { findKeyBytes, keysIn, writtenIn } from './key-scan.ts';

/** `ichor` as it is shipped, built from the sources of now: what people run is what is tried here. */
const BUILT = await builtIchor();

/** Where the built `ichor` is, for programs that start it by themselves. */
export async function buildIchor(): Promise<string> {
  return BUILT;
}

/** One `ichor` in a process of its own, as people run it. */
export interface IchorProcess {
  readonly child: ChildProcess;
  /**
   * Resolves with the exit code; 137 after a kill -9. Rejects where what it printed, or a file that it wrote for people
   * to read, holds bytes of a private key that was in its directory when it began or is there when it has ended.
   */
  readonly ended: Promise<number>;
  /** Standard output and standard error so far. */
  output(): string;
  kill9(): void;
}

/** Where an `ichor` is at home, which is the cluster directory, and which one it is: the one that was built unless `program` names another. */
export interface IchorOptions {
  readonly home: string;
  readonly program?: string | undefined;
}

/** Starts `ichor` with these arguments; nothing of the caller's terminal or home is used. */
export function startIchor(args: readonly string[], options: IchorOptions): IchorProcess {
  const before = keysIn(options.home);
  const child = spawn(process.execPath, [options.program ?? BUILT, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: options.home, NO_COLOR: '1' },
  });
  const atEnd = atExit(() => child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      atEnd[Symbol.dispose]();
      const found = findKeyBytes({ output: text, ...writtenIn(options.home) }, [...before, ...keysIn(options.home)]);
      if (found.length > 0) reject(new Error(`ichor ${args.join(' ')}: ${found.join('; ')}`));
      else resolve(code ?? (signal === 'SIGKILL' ? 137 : 143));
    });
  });
  return { child, ended, output: () => text, kill9: () => child.kill('SIGKILL') };
}

/** The audit trail of a cluster directory; a last line that was torn by a kill is left out. */
export function readAudit(directory: string): AuditEntry[] {
  const path = join(directory, 'audit.jsonl');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as AuditEntry];
    } catch {
      return [];
    }
  });
}

/** Waits until the audit trail has an entry after the first `seen` that fits, or the process has ended. */
export async function untilAudit(
  directory: string,
  ichor: IchorProcess,
  seen: number,
  fits: (entry: AuditEntry) => boolean,
): Promise<AuditEntry | undefined> {
  const path = join(directory, 'audit.jsonl');
  let over = false;
  void ichor.ended.then(() => {
    over = true;
  });
  for (let size = -1; ; ) {
    const ended = over;
    const now = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    // Asked two hundred times a second, so that it is read only when it has grown.
    if (now !== size) {
      size = now;
      const found = readAudit(directory).slice(seen).find(fits);
      if (found !== undefined) return found;
    }
    if (ended) return undefined;
    await sleep(5);
  }
}
