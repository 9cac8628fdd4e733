import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LabError } from './lab-error.ts';

/** How long a listener of our own may take to appear. */
const PATIENCE_MS = 60_000;

const BETWEEN_MS = 10;

/** Resolves when something accepts connections there. Errors: {@link LabError} `addresses` after a minute, so that a busy computer has the time. */
export async function untilListening(address: string, port: number): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const failure = await dial(address, port);
    if (failure === undefined) return;
    if (performance.now() >= until) {
      throw new LabError(
        'addresses',
        `${address}:${port} does not accept connections (${failure}); expected the lab to listen there`,
        'Look for another program on that address: it must be free.',
      );
    }
    await sleep(BETWEEN_MS);
  }
}

function dial(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
