import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import {
  type ControlError,
  type ControlReply,
  type ControlRequest,
  controlPath,
  LONGEST_SOCKET_PATH,
} from './control.ts';
import { machineNamed } from './faults.ts';
import type { Lab } from './lab.ts';
import { LabError } from './lab-error.ts';

/** The control socket of a lab. */
export interface Control {
  close(): Promise<void>;
}

/**
 * Listens on the control socket in the lab's directory, for its owner only (0600).
 * Errors: `directory` where the path is too long for a socket.
 */
export async function serveControl(lab: Lab, down: () => void): Promise<Control> {
  const path = controlPath(lab.directory);
  const bytes = Buffer.byteLength(path);
  if (bytes > LONGEST_SOCKET_PATH) {
    throw new LabError(
      'directory',
      `the lab's control socket would be ${path}: ${bytes} bytes, and the path of a socket has at most ${LONGEST_SOCKET_PATH}`,
      'Choose a directory with a shorter path.',
    );
  }
  await rm(path, { force: true });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A client that went away is no mistake of ours.
    socket.on('error', () => socket.destroy());
    createInterface(socket).once('line', (line) => reply(lab, socket, line, down));
  });
  await listen(server, path);
  await chmod(path, 0o600);
  return {
    close() {
      for (const socket of sockets) socket.end();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // The socket is its owner's from the first moment on.
    const before = process.umask(0o177);
    server.listen(path, () => resolve());
    process.umask(before);
  });
}

function reply(lab: Lab, socket: Socket, line: string, down: () => void): void {
  const say = (answer: ControlReply): void => {
    socket.write(`${JSON.stringify(answer)}\n`);
  };
  let request: ControlRequest;
  try {
    request = JSON.parse(line) as ControlRequest;
    if (request.do === 'logs') {
      const lines = lab.logs.of(request.machine);
      // What was removed still has its lines; a name without any may be mistyped, and is looked for.
      if (lines.length === 0 && request.machine !== undefined && request.machine !== 'cluster') {
        machineNamed(lab.world, request.machine);
      }
      for (const each of lines) say({ ok: true, line: each });
      if (request.follow === true) {
        const { machine } = request;
        const end = lab.logs.follow((each) => {
          if (machine === undefined || each.machine === machine) say({ ok: true, line: each });
        });
        socket.on('close', end);
        return;
      }
    } else {
      say({ ok: true, value: perform(lab, request) });
    }
  } catch (error) {
    say({ ok: false, error: errorOf(error) });
    socket.end();
    return;
  }
  socket.end();
  if (request.do === 'down') down();
}

function perform(lab: Lab, request: Exclude<ControlRequest, { do: 'logs' }>): unknown {
  switch (request.do) {
    case 'status':
    case 'down':
      return lab.status();
    case 'reboot':
      lab.reboot(request.machine);
      return lab.status();
    case 'break':
      lab.break(request.fault, request.machine);
      return lab.status();
    case 'mend':
      return { ended: lab.mend(request.fault, request.machine), status: lab.status() };
  }
}

function errorOf(error: unknown): ControlError {
  if (error instanceof LabError) return { kind: error.kind, message: error.message, advice: error.advice };
  return { kind: 'usage', message: error instanceof Error ? error.message : String(error), advice: undefined };
}
