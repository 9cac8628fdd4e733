import { spawn } from 'node:child_process';

/** How one `ichor` ended, and all that it printed. */
export interface IchorEnd {
  readonly code: number;
  readonly output: string;
}

/** One `ichor` that runs. */
export interface IchorRun {
  /** Resolves with the exit code; 137 after a kill. */
  readonly ended: Promise<IchorEnd>;
  /** Whether it has ended. */
  isOver(): boolean;
  /** What it has printed so far. */
  output(): string;
  /** SIGKILL: it gets no chance to tidy up. */
  kill(): void;
}

/** The program under test, as people run it: a process of its own. */
export interface Ichor {
  /** Starts `ichor ARGS --dir DIRECTORY`. */
  start(args: readonly string[]): IchorRun;
  /** The same, to its end. */
  run(args: readonly string[]): Promise<IchorEnd>;
}

/** What the program is started with. */
export interface IchorOptions {
  /** Program and first arguments: `['ichor']`, or Node and the file of the command. */
  readonly command: readonly [string, ...string[]];
  readonly directory: string;
  /** Arguments for every call, such as `--identity FILE`. */
  readonly also?: readonly string[];
}

/** Starts `ichor` with the environment of this process, without a terminal. */
export function createIchor({ command, directory, also = [] }: IchorOptions): Ichor {
  const [program, ...first] = command;
  const start = (args: readonly string[]): IchorRun => {
    const child = spawn(program, [...first, ...args, '--dir', directory, ...also], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
    });
    let text = '';
    let isOver = false;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
    }
    const ended = new Promise<IchorEnd>((resolve, reject) => {
      child.on('error', (cause) => reject(new Error(`cannot run ${program}: ${cause.message}`, { cause })));
      child.on('close', (code, signal) => {
        isOver = true;
        resolve({ code: code ?? (signal === 'SIGKILL' ? 137 : 143), output: text });
      });
    });
    return { ended, isOver: () => isOver, output: () => text, kill: () => child.kill('SIGKILL') };
  };
  return { start, run: (args) => start(args).ended };
}

/** The last line that says something: what `ichor` ended with. Its messages name machines and files, never a key. */
export function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? '';
}
