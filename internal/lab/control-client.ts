import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type ControlReply, type ControlRequest, controlPath } from './control.ts';
import { crashPath, readLabRecord } from './lab-directory.ts';
import { LabError } from './lab-error.ts';
import type { LogLine } from './logs.ts';

/**
 * Asks the lab in a directory. Errors: `not-running`; whatever the lab answers.
 */
export async function askLab<T>(directory: string, request: Exclude<ControlRequest, { do: 'logs' }>): Promise<T> {
  for await (const reply of replies(directory, request)) {
    if ('value' in reply) return reply.value as T;
  }
  throw new LabError('not-running', `the lab in ${directory} ended before it answered`);
}

/** The lines of a lab, and with `follow` those that come until the lab ends or `signal` aborts. */
export async function* readLogs(
  directory: string,
  request: Omit<Extract<ControlRequest, { do: 'logs' }>, 'do'>,
  signal?: AbortSignal,
): AsyncGenerator<LogLine> {
  for await (const reply of replies(directory, { do: 'logs', ...request }, signal)) {
    if ('line' in reply) yield reply.line;
  }
}

async function* replies(
  directory: string,
  request: ControlRequest,
  signal?: AbortSignal,
): AsyncGenerator<Extract<ControlReply, { ok: true }>> {
  const socket = await open(directory);
  const onAbort = (): void => {
    socket.destroy();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const line of createInterface(socket)) {
      const reply = JSON.parse(line) as ControlReply;
      if (!reply.ok) throw new LabError(reply.error.kind, reply.error.message, reply.error.advice);
      yield reply;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    socket.destroy();
  }
}

async function open(directory: string): Promise<Socket> {
  const found = await readLabRecord(directory);
  if (found === undefined) {
    throw new LabError('not-running', `no lab runs in ${directory}`, `Start one: ichor lab up ${directory}`);
  }
  if (!found.isAlive) {
    const why = existsSync(crashPath(directory)) ? `Why: ${crashPath(directory)}. ` : '';
    throw new LabError(
      'not-running',
      `the process of the lab in ${directory} (${found.record.process.pid}) has ended without cleaning up`,
      `${why}Remove what it left with ichor lab down, or start anew with ichor lab up.`,
    );
  }
  return new Promise((resolve, reject) => {
    const socket = connect(controlPath(directory), () => resolve(socket));
    socket.once('error', (cause: NodeJS.ErrnoException) => {
      const what = `the lab in ${directory} (process ${found.record.process.pid}) does not answer: ${cause.code}`;
      reject(new LabError('not-running', what, 'It may be starting or ending: try again.', cause));
    });
  });
}
