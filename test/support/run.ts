import { spawn } from 'node:child_process';

/** How one program ended. */
export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a program is run with; without `timeoutMs` it has ten minutes. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** Runs a program to its end, whatever its exit code; rejects only when it cannot be started or takes too long. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const timeoutMs = options.timeoutMs ?? 600_000;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(options.signal && { signal: options.signal, killSignal: 'SIGKILL' as const }),
    });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, timeoutMs);
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    // A program that ends before it has read its input is judged by its exit code.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new Error(`cannot run ${program}: ${cause.message}`, { cause }));
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const result = {
        code: code ?? (signal === 'SIGKILL' ? 137 : 143),
        stdout: Buffer.concat(stdout).toString(),
        stderr: Buffer.concat(stderr).toString(),
      };
      if (late) reject(new Error(`${program} ${args.join(' ')}: no end after ${timeoutMs} ms\n${tail(result.stderr)}`));
      else resolve(result);
    });
  });
}

/** Runs a program that must succeed and returns its output; the error names the command and its last lines. */
export async function output(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const result = await run(program, args, options);
  if (result.code === 0) return result.stdout;
  throw new Error(`${program} ${args.join(' ')}: exit code ${result.code}\n${tail(result.stderr || result.stdout)}`);
}

/** The last lines of a text, which is where programs say what went wrong. */
export function tail(text: string, lines = 6): string {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}
