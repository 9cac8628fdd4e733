import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AuditEntry } from '../../internal/controller/index.ts';

const MAIN = join(fileURLToPath(import.meta.url), '..', '..', '..', 'cmd', 'ichor', 'main.ts');

/** One `ichor` in a process of its own, as people run it. */
export interface IchorProcess {
  readonly child: ChildProcess;
  /** Resolves with the exit code; 137 after a kill -9. */
  readonly ended: Promise<number>;
  /** Standard output and standard error so far. */
  output(): string;
  kill9(): void;
}

/** Starts `ichor` with these arguments; nothing of the caller's terminal or home is used. */
export function startIchor(args: readonly string[], options: { readonly home: string }): IchorProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: options.home, NO_COLOR: '1' },
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? (signal === 'SIGKILL' ? 137 : 143)));
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
  let over = false;
  void ichor.ended.then(() => {
    over = true;
  });
  for (;;) {
    const found = readAudit(directory).slice(seen).find(fits);
    if (found !== undefined || over) return found;
    await sleep(5);
  }
}
