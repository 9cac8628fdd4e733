import { homedir } from 'node:os';
import { isatty } from 'node:tty';
import { createSystemClock } from '../../pkg/clock/index.ts';
import type { CliEnvironment, TextSink } from './environment.ts';
import { exitCode } from './exit-codes.ts';

/** Set by the build; the sources run as themselves. */
declare const ICHOR_VERSION: string | undefined;

/** The environment of this process: its streams, its terminal, real sockets and real directories. */
export function createProcessEnvironment(): CliEnvironment {
  const leaving = new AbortController();
  // Only a command that can be left in the middle listens; for the others Ctrl-C is what it always is.
  let isListening = false;
  const listen = (): AbortController => {
    if (!isListening) for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => leave(leaving));
    isListening = true;
    return leaving;
  };
  // Asked of the descriptor: touching process.stdin would open it for every command.
  const onTerminal = isatty(0) && isatty(2);
  return {
    stdout: sinkOf(process.stdout, 'standard output'),
    stderr: sinkOf(process.stderr, 'standard error'),
    ask: onTerminal
      ? {
          confirm: async (question) => (await import('./terminal-ask.ts')).confirm(question, listen()),
          secret: async (question) => (await import('./terminal-ask.ts')).secret(question, listen()),
        }
      : undefined,
    env: process.env,
    workingDirectory: process.cwd(),
    homeDirectory: homedir(),
    clock: createSystemClock(),
    get interrupted() {
      return listen().signal;
    },
    program: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
    version: typeof ICHOR_VERSION === 'string' ? ICHOR_VERSION : '0.1.0',
    openStore: async (options) => (await import('../store/index.ts')).openEmbeddedStore(options),
    connections: async () => (await import('../controller/index.ts')).createConnections(),
    openLog: async (file) => (await import('../telemetry/index.ts')).openPinoLogger(file),
  };
}

/** The first time we end between two effects; the second time at once. */
function leave(leaving: AbortController): void {
  if (leaving.signal.aborted) process.exit(exitCode('detached'));
  leaving.abort();
}

function sinkOf(stream: NodeJS.WriteStream, name: string): TextSink {
  let isLost = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that went away (`ichor … | head`) is no mistake of ours.
    if (error.code === 'EPIPE' || isLost) return;
    isLost = true;
    // The disk behind it is full: what was begun goes on, and does not end as if somebody had read it.
    process.stderr.write(`error: ${name} cannot be written: ${error.code ?? error.message}\n`);
    process.on('exit', (code) => {
      if (code === exitCode('ok')) process.exitCode = exitCode('directory');
    });
  });
  return {
    write: (text) => {
      stream.write(text);
    },
    get isTerminal() {
      return stream.isTTY === true && process.env.TERM !== 'dumb';
    },
    get columns() {
      return stream.columns ?? 80;
    },
    get rows() {
      return stream.rows;
    },
  };
}
