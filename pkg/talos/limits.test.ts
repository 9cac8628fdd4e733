import { ChannelCredentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { Data } from '../../proto/generated/talos/common.ts';
import { MachineServiceClient } from '../../proto/generated/talos/machine.ts';
import { aTalosServer, type TalosServer, type TalosServerOptions } from '../../test/builders/talos-server.ts';
import { Secret, toPkcs8 } from '../pki/index.ts';
import { createTalosMachine, type TalosMachine } from './index.ts';

const MIB = 1024 * 1024;
const opened: { close(): void }[] = [];
afterEach(() => {
  for (const item of opened.splice(0).reverse()) item.close();
});

async function aMachine(options: TalosServerOptions = {}): Promise<{ machine: TalosMachine; server: TalosServer }> {
  const server = await aTalosServer(options);
  const machine = createTalosMachine({ name: 'cp1', address: server.address, port: server.port, ...server.identity });
  opened.push(server, machine);
  return { machine, server };
}

describe('message sizes', () => {
  it('a reply of 8 MB is fine', async () => {
    const modeDetails = 'x'.repeat(8_000_000);
    const { machine } = await aMachine({
      machine: {
        applyConfiguration: (_c, reply) =>
          reply(null, { messages: [{ metadata: undefined, warnings: [], mode: 2, modeDetails }] }),
      },
    });

    const result = await machine.apply({ config: Secret.of('machine-config', 'a: 1'), mode: 'NO_REBOOT' });

    expect(result.details).toHaveLength(8_000_000);
  });

  it('a reply of 80 MB is refused by its announced length', async () => {
    const warnings = ['x'.repeat(80_000_000)];
    const { machine } = await aMachine({
      machine: {
        applyConfiguration: (_c, reply) =>
          reply(null, { messages: [{ metadata: undefined, warnings, mode: 2, modeDetails: '' }] }),
      },
    });

    await expect(machine.apply({ config: Secret.of('machine-config', 'a: 1'), mode: 'NO_REBOOT' })).rejects.toThrow(
      /^too-large: ApplyConfiguration on cp1: the reply has 800000\d\d bytes, more than the limit of 32 MiB$/,
    );
  });

  it('a request over the limit is refused before anything is sent', async () => {
    const { machine, server } = await aMachine();
    const config = Secret.of('machine-config', 'x'.repeat(33 * MIB));

    await expect(machine.apply({ config, mode: 'NO_REBOOT' })).rejects.toMatchObject({
      kind: 'too-large',
      outcome: 'not-done',
    });
    expect(server.received).toEqual([]);
  });

  it('a file over the given size is given up, not collected', async () => {
    let sent = 0;
    const { machine } = await aMachine({
      machine: {
        async read(call) {
          while (!call.cancelled && sent < 1000) {
            sent += 1;
            if (!call.write(Data.fromPartial({ bytes: Buffer.alloc(MIB) })))
              await new Promise((r) => call.once('drain', r).once('cancelled', r));
          }
        },
      },
    });

    await expect(machine.readFile('/var/log/big', { maxBytes: 3 * MIB })).rejects.toMatchObject({ kind: 'too-large' });
    expect(sent).toBeLessThan(50);
  });
});

describe('speed', () => {
  function bareClient(server: TalosServer): MachineServiceClient {
    const { credentials, trust } = server.identity;
    return new MachineServiceClient(
      `127.0.0.1:${server.port}`,
      ChannelCredentials.createSsl(
        Buffer.from(trust[0]?.pem ?? ''),
        Buffer.from(toPkcs8(credentials.key).expose()),
        Buffer.from(credentials.certificate.pem),
      ),
      // Otherwise clients of one address share a connection.
      { 'grpc.use_local_subchannel_pool': 1 },
    );
  }
  const callBare = (client: MachineServiceClient) =>
    new Promise((resolve, reject) => client.version({}, (error, reply) => (error ? reject(error) : resolve(reply))));

  it('a call over a warm connection takes at most 1.5 times that of bare grpc-js', async () => {
    const { machine, server } = await aMachine();
    const bare = bareClient(server);
    opened.push(bare);

    const [ours = [], theirs = []] = await timeInTurns([() => machine.version(), () => callBare(bare)], 200);

    expect(quantile(ours, 0.5)).toBeLessThan(quantile(theirs, 0.5) * 1.5);
  });

  it('a proof over a new connection takes no longer than with bare grpc-js', async () => {
    const { machine, server } = await aMachine();
    const proveBare = async () => {
      const client = bareClient(server);
      await callBare(client);
      client.close();
    };

    const [ours = [], theirs = []] = await timeInTurns([() => machine.version({ fresh: true }), proveBare], 20);

    expect(quantile(ours, 0.5)).toBeLessThan(quantile(theirs, 0.5) * 1.5);
    process.stderr.write(`a proof over a new connection: ${quantile(ours, 0.5).toFixed(1)} ms\n`);
  }, 60_000);
});

/** Durations in ms of each action; they take turns, so that all of them see the same load. */
async function timeInTurns(actions: readonly (() => Promise<unknown>)[], rounds: number): Promise<number[][]> {
  const durations = actions.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, action] of actions.entries()) {
      const started = performance.now();
      await action();
      // The first rounds warm up.
      if (round >= rounds / 4) durations[index]?.push(performance.now() - started);
    }
  }
  return durations;
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}
