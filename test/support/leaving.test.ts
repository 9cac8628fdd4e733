import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { unlessAborted } from './leaving.ts';

/**
 * A program that makes `cluster` and then `directory`, says what becomes of them, and works for an hour; `fails` and
 * `done` end the work by themselves. `making` says when the second one is begun, and takes until it is told to end.
 */
const PROGRAM = `
import { takingDown, unlessAborted, atExit } from ${JSON.stringify(new URL('./leaving.ts', import.meta.url).href)};
const how = process.argv.at(-1);
const say = (line) => process.stdout.write(line + '\\n');
const anHour = () => new Promise((resolve) => setTimeout(resolve, 3_600_000));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function make(name, signal) {
  if (how === 'making' && name === 'directory') {
    say('working');
    try {
      await unlessAborted(anHour(), signal);
    } finally {
      await pause(50);
      say('given up: ' + name);
    }
  }
  return { async [Symbol.asyncDispose]() {
    if (how === 'stuck') { await pause(1_200); say('taking down'); await anHour(); }
    await pause(50);
    if (how === 'broken' && name === 'directory') throw new Error('the directory stays');
    say('gone: ' + name);
  } };
}
const result = await takingDown(async ({ keep, signal }) => {
  await keep(make('cluster', signal));
  await keep(make('directory', signal));
  atExit(() => say('exit'));
  if (how === 'done') return 'done';
  if (how === 'fails') throw new Error('it failed');
  say('working');
  await unlessAborted(anHour(), how === 'deaf' ? undefined : signal);
}, say).catch((error) => error.message);
say('result: ' + result);
`;

/** Runs the program, sends it a signal whenever it says one of these lines, and answers what it printed. */
async function told(how: string, signals: Readonly<Record<string, NodeJS.Signals>>) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, '--', how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  const sent = new Set<string>();
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
    for (const [line, signal] of Object.entries(signals)) {
      if (sent.has(line) || !printed.includes(`${line}\n`)) continue;
      sent.add(line);
      child.kill(signal);
    }
  });
  // What it should have ended by then, it has not: the test says so in what was printed.
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  return { code, lines: printed.trimEnd().split('\n') };
}

function taking(signal: string): string {
  return `${signal}: taking down what was made; once more ends at once and leaves it`;
}

describe('a program that takes down what it made', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('does so on %s, the last first, in the middle of its work', async (signal, code) => {
    expect(await told('work', { working: signal })).toEqual({
      code,
      lines: ['working', taking(signal), 'gone: directory', 'gone: cluster', 'exit'],
    });
  });

  it('takes a Ctrl-C that npm hands on for the one that the terminal sent', async () => {
    expect(await told('work', { working: 'SIGINT', [taking('SIGINT')]: 'SIGINT' })).toEqual({
      code: 130,
      lines: ['working', taking('SIGINT'), 'gone: directory', 'gone: cluster', 'exit'],
    });
  });

  it('does not wait for work that does not listen', async () => {
    expect(await told('deaf', { working: 'SIGINT' })).toEqual({
      code: 130,
      lines: ['working', taking('SIGINT'), 'gone: directory', 'gone: cluster', 'exit'],
    });
  });

  it('waits for what is only being made to be given up', async () => {
    expect(await told('making', { working: 'SIGTERM' })).toEqual({
      code: 143,
      lines: ['working', taking('SIGTERM'), 'given up: directory', 'gone: cluster'],
    });
  });

  it.each([
    ['done', 'done'],
    ['fails', 'it failed'],
  ])('does so when the work is over by itself: %s', async (how, result) => {
    expect(await told(how, {})).toEqual({
      code: 0,
      lines: ['gone: directory', 'gone: cluster', `result: ${result}`, 'exit'],
    });
  });

  it('goes on with what it takes down already when it is told to end at its end', async () => {
    expect(await told('done', { 'gone: directory': 'SIGINT' })).toEqual({
      code: 130,
      lines: ['gone: directory', taking('SIGINT'), 'gone: cluster', 'exit'],
    });
  });

  it('says what could not be taken down, and takes down the rest', async () => {
    expect(await told('broken', { working: 'SIGINT' })).toEqual({
      code: 130,
      lines: [
        ...['working', taking('SIGINT'), 'gone: cluster'],
        ...['error: not everything could be taken down: the directory stays', 'exit'],
      ],
    });
  });

  it('ends at once when it is told twice', async () => {
    expect(await told('stuck', { working: 'SIGINT', 'taking down': 'SIGTERM' })).toEqual({
      code: 143,
      lines: ['working', taking('SIGINT'), 'taking down', 'exit'],
    });
  });
});

describe('a wait that a signal ends', () => {
  it('ends with its own answer, or with the reason of the signal', async () => {
    const told = new AbortController();
    const never = new Promise<never>(() => undefined);

    const answered = await unlessAborted(Promise.resolve('yes'), told.signal);
    const ended = unlessAborted(never, told.signal);
    told.abort(new Error('SIGINT ended this program'));

    expect(answered).toBe('yes');
    await expect(ended).rejects.toThrow('SIGINT ended this program');
    await expect(unlessAborted(never, told.signal)).rejects.toThrow('SIGINT ended this program');
  });
});
