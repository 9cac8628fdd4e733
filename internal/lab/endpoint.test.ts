import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { afterEach, beforeAll, describe, it } from 'vitest';
import { createMint, createWorld, type Mint, type World } from '../simulator/index.ts';
import { addressesOf } from './addresses.ts';
import { forward } from './endpoint.ts';

let mint: Mint;
beforeAll(async () => {
  mint = await createMint(1);
}, 60_000);

/** Closes everything that a test has opened. */
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function listening(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  ends.push(() => server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A cluster whose API servers say the address that they are at, and hang up. */
async function aCluster(): Promise<{ world: World; ask: () => Promise<string> }> {
  const addresses = addressesOf(251);
  const world = createWorld({ seed: 1, controlPlanes: 3, workers: 0, mint });
  for (const [index, machine] of world.planes().entries()) {
    const address = addresses.controlPlane(index + 1);
    // The machines of a search have addresses on which nobody can listen.
    Object.assign(machine, { address });
    await listening(
      createServer((socket) => socket.end(address)),
      address,
      6443,
    );
  }
  const server = createServer();
  const endpoint = forward(server, world);
  const port = await listening(server, addresses.endpoint, 0);
  ends.unshift(() => endpoint.close());
  const ask = async (): Promise<string> => {
    let text = '';
    for await (const chunk of connect(port, addresses.endpoint)) text += String(chunk);
    return text;
  };
  return { world, ask };
}

describe('forward', () => {
  it('gives each connection to the next API server', async () => {
    const { ask } = await aCluster();

    const asked = [await ask(), await ask(), await ask()];

    assert.deepEqual([...asked].sort(), ['127.77.251.11', '127.77.251.12', '127.77.251.13']);
  });

  it('leaves out an API server that is not ready', async () => {
    const { world, ask } = await aCluster();
    const [first] = world.planes();
    if (first?.plane !== undefined) first.plane.apiServer.isFrozen = true;

    const asked = new Set([await ask(), await ask(), await ask(), await ask()]);

    assert.deepEqual([...asked].sort(), ['127.77.251.12', '127.77.251.13']);
  });

  it('hangs up where none is ready', async () => {
    const { world, ask } = await aCluster();
    for (const { plane } of world.planes()) if (plane !== undefined) plane.apiServer.isFrozen = true;

    assert.equal(await ask().catch((error: NodeJS.ErrnoException) => error.code ?? ''), '');
  });
});
