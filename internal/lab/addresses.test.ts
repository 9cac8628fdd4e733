import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'vitest';
import { addressesOf, allAddresses, checkFree, reserveAddresses } from './addresses.ts';

describe('addressesOf', () => {
  it('gives every machine an address of its own', () => {
    const all = allAddresses(addressesOf(3), { controlPlanes: 2, workers: 2 });

    assert.deepEqual(all, ['127.77.3.10', '127.77.3.11', '127.77.3.12', '127.77.3.31', '127.77.3.32']);
  });

  it('never gives the largest lab the same address twice', () => {
    const all = allAddresses(addressesOf(1), { controlPlanes: 9, workers: 20 });

    assert.equal(new Set(all).size, 30);
  });
});

describe('reserveAddresses', () => {
  it('says what to run where the host does not have the addresses, as on macOS', async () => {
    // 192.0.2.0/24 is for documentation: no host has it; the block with number 1 is as foreign.
    const reserving = reserveAddresses({ controlPlanes: 1, workers: 1 }, '192.0');

    await assert.rejects(reserving, {
      kind: 'addresses',
      message:
        "the lab's machines need loopback addresses of their own, and 192.0.1.10 cannot be listened on (EADDRNOTAVAIL)",
      advice:
        /for address in 192\.0\.1\.10 192\.0\.1\.11 192\.0\.1\.31; do sudo ifconfig lo0 alias "\$address" up; done/,
    });
  });

  it('gives two labs of one host different blocks', async () => {
    const counts = { controlPlanes: 1, workers: 0 };
    const first = await reserveAddresses(counts);
    const second = await reserveAddresses(counts);
    first.server.close();
    second.server.close();

    assert.notEqual(first.addresses.endpoint, second.addresses.endpoint);
  });
});

describe('checkFree', () => {
  it('names the machine whose API server cannot listen where its configuration says', async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port));
    });

    await assert.rejects(checkFree('plane-1', '127.0.0.1', port), {
      kind: 'addresses',
      message: `the configuration of plane-1 has kube-apiserver on port ${port}, and 127.0.0.1:${port} cannot be listened on (EADDRINUSE)`,
    });

    await new Promise((resolve) => other.close(resolve));
    await checkFree('plane-1', '127.0.0.1', port);
  });
});
