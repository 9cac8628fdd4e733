import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { CliError } from './cli-error.ts';

/** Asks yes or no on the terminal; only `y` and `yes` are yes. Ctrl-C leaves. */
export async function confirm(question: string, leaving: AbortController): Promise<boolean> {
  const answer = await line(`${question} [y/N] `, leaving, process.stderr);
  return /^y(es)?$/i.test(answer.trim());
}

/** Asks for a text that is not shown. Ctrl-C leaves. */
export async function secret(question: string, leaving: AbortController): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    // Asked when the terminal no longer shows what is typed: who pastes at once is faster than it is told to.
    return await line('', leaving, nowhere, () => process.stderr.write(`${question} `));
  } finally {
    process.stderr.write('\n');
  }
}

async function line(
  prompt: string,
  leaving: AbortController,
  output: NodeJS.WritableStream,
  onReady?: () => void,
): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  onReady?.();
  // In raw mode Ctrl-C is a key and no signal.
  terminal.on('SIGINT', () => leaving.abort());
  // The terminal was closed: nobody answers any more.
  terminal.on('close', () => leaving.abort());
  try {
    const answer = await terminal.question(prompt, { signal: leaving.signal });
    terminal.removeAllListeners('close');
    return answer;
  } catch (cause) {
    throw new CliError('detached', 'interrupted at a question; nothing was changed by it', undefined, cause);
  } finally {
    terminal.removeAllListeners('close');
    terminal.close();
  }
}
