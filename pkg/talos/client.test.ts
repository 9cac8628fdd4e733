import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { ContainersResponse } from '../../proto/generated/talos/machine.ts';
import {
  aClient,
  aTalosCa,
  aTalosServer,
  type TalosServer,
  type TalosServerOptions,
} from '../../test/builders/talos-server.ts';
import { Secret } from '../pki/index.ts';
import { createTalosMachine, type Identity, isTalosError, TalosError, type TalosMachine } from './index.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const item of opened.splice(0).reverse()) item.close();
});

async function aServer(options: TalosServerOptions = {}): Promise<TalosServer> {
  const server = await aTalosServer(options);
  opened.push(server);
  return server;
}

function aMachine(
  server: { address: string; port: number; identity: Identity },
  identity = server.identity,
): TalosMachine {
  const machine = createTalosMachine({ name: 'cp1', address: server.address, port: server.port, ...identity });
  opened.push(machine);
  return machine;
}

async function errorOf(promise: Promise<unknown>): Promise<TalosError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof TalosError) return error;
    throw error;
  }
  throw new Error('expected the call to fail');
}

const aConfig = Secret.of('machine-config', 'version: v1alpha1\n');

describe('a client bound to one machine', () => {
  it('reads the version', async () => {
    const machine = aMachine(await aServer());

    expect(await machine.version()).toEqual({
      tag: 'v1.14.1',
      arch: 'amd64',
      platform: 'metal',
      mode: 'metal',
      rbac: true,
    });
  });

  it('sends no routing metadata, so that no other machine is ever involved', async () => {
    const server = await aServer();

    await aMachine(server).version();

    expect(server.received.map((call) => call.path)).toEqual(['/machine.MachineService/Version']);
    expect(Object.keys(server.received[0]?.metadata.getMap() ?? {}).sort()).toEqual(['user-agent']);
  });

  it.each([
    [2, 3, 'listed'],
    [3, 3, 'not-found'],
  ])('lists containers again where one was removed meanwhile: %i times in vain', async (inVain, asked, expected) => {
    let calls = 0;
    const server = await aServer({
      machine: {
        containers(_call, reply) {
          calls += 1;
          if (calls <= inVain) reply({ code: status.NOT_FOUND, details: 'container "a": not found' });
          else reply(null, ContainersResponse.fromPartial({ messages: [{ containers: [] }] }));
        },
      },
    });

    const found = await aMachine(server)
      .containers()
      .then(
        () => 'listed',
        (error: TalosError) => error.kind,
      );

    expect([found, calls]).toEqual([expected, asked]);
  });

  it('uses one connection for many calls at once', async () => {
    const peers: string[] = [];
    const server = await aServer({
      machine: {
        etcdStatus(call, reply) {
          peers.push(call.getPeer());
          reply({ code: status.NOT_FOUND, details: '' });
        },
      },
    });
    const machine = aMachine(server);

    await Promise.all(Array.from({ length: 50 }, () => errorOf(machine.etcd.status())));

    expect(peers).toHaveLength(50);
    expect(new Set(peers).size).toBe(1);
  });

  it('always says the mode of an apply, and keeps keys out of what it returns', async () => {
    const modes: number[] = [];
    const server = await aServer({
      machine: {
        applyConfiguration(call, reply) {
          modes.push(call.request.mode);
          const modeDetails =
            'Dry run summary:\nApplied configuration without a reboot (skipped in dry-run).\nConfig diff:\n\n-  key: aGVsbG8K\n';
          reply(null, { messages: [{ metadata: undefined, warnings: ['old'], mode: 2, modeDetails }] });
        },
      },
    });

    const result = await aMachine(server).apply({ config: aConfig, mode: 'AUTO', dryRun: true });

    expect(modes).toEqual([1]);
    expect(result).toEqual({
      mode: 'NO_REBOOT',
      warnings: ['old'],
      details: 'Dry run summary:\nApplied configuration without a reboot (skipped in dry-run).',
      changes: true,
    });
  });

  it('changes the machine over a connection of its own', async () => {
    const peers: string[] = [];
    const server = await aServer({
      machine: {
        reboot(call, reply) {
          peers.push(call.getPeer());
          reply(null, { messages: [{ metadata: undefined, actorId: 'actor' }] });
        },
        version(call, reply) {
          peers.push(call.getPeer());
          reply(null, {
            messages: [{ metadata: undefined, version: undefined, platform: undefined, features: undefined }],
          });
        },
      },
    });
    const machine = aMachine(server);

    await machine.version();
    await machine.reboot('DEFAULT');
    await machine.reboot('DEFAULT');
    await machine.version();

    expect(new Set(peers).size).toBe(3);
    expect(peers[0]).toBe(peers[3]);
  });

  it('opens a connection for each proof on request', async () => {
    const ca = await aTalosCa();
    const server = await aServer({ cas: [ca] });
    const machine = aMachine(server);
    await machine.version();
    await server.swap([await aTalosCa()]);

    // The open connection is never verified again: as a proof it is worthless.
    expect((await machine.version()).tag).toBe('v1.14.1');
    expect(await errorOf(machine.version({ fresh: true }))).toMatchObject({
      kind: 'untrusted-server',
      outcome: 'not-done',
    });
  });
});

describe('errors', () => {
  it.each([
    [status.INVALID_ARGUMENT, 'broken', 'invalid', 'not-done'],
    [status.PERMISSION_DENIED, 'not authorized', 'permission', 'not-done'],
    [status.PERMISSION_DENIED, 'resource type "X" is not supported', 'unsupported', 'not-done'],
    [status.UNIMPLEMENTED, 'the REBOOT mode is not supported', 'unsupported', 'not-done'],
    [status.FAILED_PRECONDITION, 'another apply configuration is already in progress', 'locked', 'not-done'],
    [status.FAILED_PRECONDITION, 'time is not in sync yet', 'refused', 'not-done'],
    [status.NOT_FOUND, 'nothing', 'not-found', 'not-done'],
    [status.ALREADY_EXISTS, 'etcd data directory is not empty', 'conflict', 'not-done'],
    [status.UNKNOWN, 'service "etcd" doesn\'t support restart operation via API', 'refused', 'not-done'],
    [status.UNKNOWN, 'disk is full', 'refused', 'unknown'],
    [status.INTERNAL, 'oops', 'refused', 'unknown'],
    [status.UNAVAILABLE, 'shutting down', 'refused', 'unknown'],
    [status.DEADLINE_EXCEEDED, 'context deadline exceeded', 'timeout', 'unknown'],
  ])('status %i "%s" is %s and %s', async (code, details, kind, outcome) => {
    const server = await aServer({ machine: { reboot: (_call, reply) => reply({ code, details }) } });

    const error = await errorOf(aMachine(server).reboot('DEFAULT'));

    expect({ kind: error.kind, outcome: error.outcome }).toEqual({ kind, outcome });
    expect(error.message).toBe(`${kind}: Reboot DEFAULT on cp1: ${details}`);
    expect(error).toMatchObject({ machine: 'cp1', call: 'Reboot DEFAULT' });
  });

  it('never repeat a call', async () => {
    let calls = 0;
    const server = await aServer({
      machine: {
        reboot(_call, reply) {
          calls += 1;
          reply({ code: status.UNAVAILABLE, details: 'later' });
        },
      },
    });

    await errorOf(aMachine(server).reboot('DEFAULT'));

    expect(calls).toBe(1);
  });

  it('do not quote the key that a machine found in a configuration', async () => {
    const key = Buffer.from('a private key of thirty-two bytes and more').toString('base64');
    const details = `unknown keys found during decoding:\nmachine:\n  acceptedCAs:\n    - key: ${key}\n`;
    const server = await aServer({
      machine: { applyConfiguration: (_call, reply) => reply({ code: status.INVALID_ARGUMENT, details }) },
    });

    const error = await errorOf(aMachine(server).apply({ config: aConfig, mode: 'NO_REBOOT' }));

    expect(error.message).toContain('- key: [redacted]');
    expect(`${error.stack} ${String(error.cause)}`).not.toContain(key);
  });

  it('take the error that a machine put into its answer', async () => {
    const metadata = {
      hostname: '10.0.0.1',
      error: 'rpc error',
      status: { code: 7, message: 'not authorized', details: [] },
    };
    const server = await aServer({
      machine: { reboot: (_call, reply) => reply(null, { messages: [{ metadata, actorId: '' }] }) },
    });

    expect(await errorOf(aMachine(server).reboot('DEFAULT'))).toMatchObject({
      kind: 'permission',
      outcome: 'not-done',
    });
  });

  it('call an answer of no machine malformed', async () => {
    const server = await aServer({ machine: { reboot: (_call, reply) => reply(null, { messages: [] }) } });

    expect(await errorOf(aMachine(server).reboot('DEFAULT'))).toMatchObject({ kind: 'malformed', outcome: 'unknown' });
  });
});

describe('the end of a call', () => {
  const silent: TalosServerOptions = { machine: { reboot: () => {} } };

  it('is unknown when the deadline passes after the request left', async () => {
    const machine = aMachine(await aServer(silent));

    const error = await errorOf(machine.reboot('DEFAULT', { deadlineMs: 200 }));

    expect(error).toMatchObject({ kind: 'timeout', outcome: 'unknown' });
    expect(error.message).toBe('timeout: Reboot DEFAULT on cp1: no answer within 200 ms');
  });

  it('tells the machine how long it has', async () => {
    const deadlines: number[] = [];
    const server = await aServer({
      machine: {
        reboot(call, reply) {
          deadlines.push(Number(call.getDeadline()) - Date.now());
          reply(null, { messages: [{ metadata: undefined, actorId: '' }] });
        },
      },
    });

    await aMachine(server).reboot('DEFAULT', { deadlineMs: 5_000 });

    expect(deadlines[0]).toBeGreaterThan(3_000);
    expect(deadlines[0]).toBeLessThanOrEqual(5_000);
  });

  it('comes for a kubeconfig as soon as for whatever else is read, though it is a stream', async () => {
    const deadlines: number[] = [];
    const server = await aServer({
      machine: {
        kubeconfig(call) {
          deadlines.push(Number(call.getDeadline()) - Date.now());
        },
      },
    });
    const machine = createTalosMachine({
      ...{ name: 'cp1', address: server.address, port: server.port, ...server.identity },
      deadlines: { readMs: 400 },
    });
    opened.push(machine);

    const error = await errorOf(machine.kubeconfig());

    expect(error.message).toBe('timeout: Kubeconfig on cp1: no answer within 400 ms');
    expect(deadlines[0]).toBeLessThanOrEqual(400);
  });

  it('reaches the machine when the caller cancels', async () => {
    const arrived = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const server = await aServer({
      machine: {
        reboot(call) {
          call.on('cancelled', () => cancelled.resolve());
          arrived.resolve();
        },
      },
    });
    const controller = new AbortController();
    const error = errorOf(aMachine(server).reboot('DEFAULT', { signal: controller.signal }));
    await arrived.promise;

    controller.abort();

    expect(await error).toMatchObject({ kind: 'cancelled', outcome: 'unknown' });
    await cancelled.promise;
  });

  it('is not-done when the caller cancelled before anything was sent', async () => {
    const server = await aServer();

    const error = await errorOf(aMachine(server).reboot('DEFAULT', { signal: AbortSignal.abort() }));

    expect(error).toMatchObject({ kind: 'cancelled', outcome: 'not-done' });
    expect(server.received).toEqual([]);
  });

  it('is unknown when the connection breaks after the request left', async () => {
    const server: TalosServer = await aServer({ machine: { reboot: () => server.close() } });

    expect(await errorOf(aMachine(server).reboot('DEFAULT'))).toMatchObject({
      kind: 'interrupted',
      outcome: 'unknown',
    });
  });

  it('comes at once for calls in flight when the client is closed', async () => {
    const arrived = Promise.withResolvers<void>();
    const server = await aServer({ machine: { reboot: () => arrived.resolve() } });
    const machine = aMachine(server);
    const error = errorOf(machine.reboot('DEFAULT'));
    await arrived.promise;

    machine.close();

    expect(await error).toMatchObject({ kind: 'cancelled', outcome: 'unknown' });
    expect(await errorOf(machine.version())).toMatchObject({ kind: 'cancelled', outcome: 'not-done' });
  });
});

describe('a machine that comes back', () => {
  it('is reached by the next call, without a pause and without being told', async () => {
    const ca = await aTalosCa();
    const first = await aServer({ cas: [ca] });
    const machine = aMachine(first);
    await machine.version();
    first.close();
    expect(isTalosError(await errorOf(machine.version()), 'unreachable', 'interrupted')).toBe(true);
    expect(await errorOf(machine.version())).toMatchObject({ kind: 'unreachable', outcome: 'not-done' });

    await aServer({ cas: [ca], port: first.port });

    expect((await machine.version()).tag).toBe('v1.14.1');
  });

  it('is reached with other credentials after they were swapped; calls in flight finish', async () => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const release = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const server = await aServer({
      cas: [old],
      machine: {
        async hostname(_call, reply) {
          reply(null, { messages: [] });
        },
        async etcdStatus(_call, reply) {
          arrived.resolve();
          await release.promise;
          reply({ code: status.NOT_FOUND, details: 'answered' });
        },
      },
    });
    const machine = aMachine(server);
    const inFlight = errorOf(machine.etcd.status());
    await arrived.promise;

    await server.swap([incoming]);
    machine.use({ trust: [old.certificate, incoming.certificate], credentials: await aClient(incoming) });

    expect((await machine.version()).tag).toBe('v1.14.1');
    release.resolve();
    expect((await inFlight).message).toContain('answered');
  });
});
