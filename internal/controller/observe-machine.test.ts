import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { toNodeView } from '../../pkg/kube/nodes.ts';
import { Secret } from '../../pkg/pki/index.ts';
import type { ContainerStatus, TalosMachine } from '../../pkg/talos/index.ts';
import { TalosError } from '../../pkg/talos/index.ts';
import { aBundleDocument } from '../../test/builders/bundle.ts';
import { aNode } from '../../test/builders/kube-objects.ts';
import { createManualClock } from '../../test/builders/manual-clock.ts';
import { createHeartbeats } from './heartbeats.ts';
import { type MachineInput, observeMachine, runningApiServers } from './observe-machine.ts';

/** A container of the CRI as Talos shows it. */
function aContainer(pod: string, name: string, overrides: Partial<ContainerStatus> = {}): ContainerStatus {
  const id = `${pod}:${name}:0123456789ab`;
  return { id, podId: pod, name, image: name, pid: 7, status: 'CONTAINER_RUNNING', sandbox: false, ...overrides };
}

describe('the kube-apiservers that run on a control plane', () => {
  it('are those of the static pod, and none of a cluster that is hosted on this one', async () => {
    const containers = async () => [
      aContainer('tenant-a/tenant-a-7c9d', 'kube-apiserver', {
        id: 'tenant-a/tenant-a-7c9d:kube-apiserver:eeeeeeeeeeee',
      }),
      aContainer('kube-system/kube-apiserver-cp1', 'kube-apiserver'),
      aContainer('kube-system/kube-apiserver-cp1', 'kube-apiserver', { status: 'CONTAINER_EXITED', id: 'x:y:before' }),
      aContainer('kube-system/kube-apiserver-cp1', 'kube-apiserver-cp1', { sandbox: true }),
      aContainer('kube-system/kube-scheduler-cp1', 'kube-scheduler'),
    ];

    expect(await runningApiServers({ containers } as unknown as TalosMachine)).toEqual(['0123456789ab']);
  });
});

const READY = '[+]ping ok\nreadyz check passed\n';
const NOT_READY = '[-]etcd failed: reason withheld\nreadyz check failed\n';

/** A control plane whose kube-apiserver of before ends, and whose new one begins, while its Talos API answers. */
async function lookAt(
  talos: 'answers' | 'is away',
  overrides: Partial<Record<keyof TalosMachine, unknown>> = {},
  inputs: object = {},
) {
  const asked: string[] = [];
  const ports: number[] = [];
  let isNew = false;
  const client = {
    version: async () => ({ tag: 'v1.14.1' }),
    bootId: async () => 'boot-1',
    configuration: async () => ({ config: Secret.of('machine-config', 'config'), version: 1n }),
    readFile: async () => Buffer.from('config'),
    services: async () => [] as unknown[],
    get: async () => undefined,
    etcd: { status: async () => ({ errors: [] }), members: async () => [], alarms: async () => [] },
    containers: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      isNew = true;
      return [aContainer('kube-system/kube-apiserver-cp1', 'kube-apiserver')];
    },
    ...overrides,
  };
  const request = async ({ path }: { readonly path: string }) => {
    asked.push(path);
    return isNew ? NOT_READY : READY;
  };
  const away = new TalosError({
    kind: 'unreachable',
    machine: 'cp1',
    call: 'Version',
    outcome: 'not-done',
    detail: 'gone',
  });
  const input = {
    session: {
      talos: (_machine: unknown, work: (machine: unknown) => unknown) =>
        talos === 'answers' ? work(client) : Promise.reject(away),
      listensOn: (_machine: unknown, port: number) => ports.push(port),
      kube: (_machine: unknown, work: (kube: unknown) => unknown) => work({ request }),
    },
    state: { bundle: (await aBundleDocument()).bundle, previous: undefined, record: undefined },
    machine: { name: 'cp1', address: '10.0.0.1', role: 'controlplane', node: undefined },
    configs: {
      read: () => ({
        digest: 'd',
        apiServerPort: 7443,
        standing: Object.fromEntries(CA_TARGETS.map((each) => [each, { stage: 'Before' }])),
      }),
    },
    replaced: new Map(),
    owners: [],
    now: 0,
    ...inputs,
  } as unknown as MachineInput;
  return { asked, ports, seen: await observeMachine(input) };
}

describe('one look at a control plane', () => {
  it('takes the age of its Lease before it waits for its Talos API, which may be slow', async () => {
    const clock = createManualClock(Date.UTC(2026, 10, 5, 12));
    const heartbeats = createHeartbeats(clock);
    const renewed = (second: number) => toNodeView(aNode('cp1'), Date.UTC(2026, 10, 5, 11, 59, second), 40_000);
    // Seen to change: from now on its age is measured by our clock.
    heartbeats.nodeTime(renewed(30), clock.now());
    heartbeats.nodeTime(renewed(50), clock.now());
    await clock.advance(20_000);
    const machine = { name: 'cp1', address: '10.0.0.1', role: 'controlplane', node: renewed(50) };
    const version = async () => {
      await clock.advance(9_000);
      return { tag: 'v1.14.1' };
    };

    const { seen } = await lookAt('answers', { version }, { heartbeats, machine, now: clock.now() });

    expect(seen.node).toMatchObject({ known: true, value: { ready: true, readyMessage: 'Ready' } });
  });

  it('asks whether its kube-apiserver is ready after it has seen which one runs: the answer is that one’s', async () => {
    const { seen } = await lookAt('answers');

    expect(seen.talos.known && seen.talos.value.apiServers).toEqual(['0123456789ab']);
    expect(seen.apiServer).toEqual({ known: true, value: { ready: false, message: 'failing: etcd' } });
  });

  it('reaches its kube-apiserver where its configuration says', async () => {
    const { seen, ports } = await lookAt('answers');

    expect(seen.talos.known && seen.talos.value.apiServerPort).toBe(7443);
    expect(ports).toEqual([7443]);
  });

  it('does not wait for the kube-apiserver of a machine whose Talos API does not answer', async () => {
    const { seen, asked, ports } = await lookAt('is away');

    expect(seen.apiServer).toEqual({ known: false, why: 'unreachable', message: 'unreachable: Version on cp1: gone' });
    expect(asked).toEqual([]);
    expect(ports).toEqual([]);
  });

  it('knows nothing of one whose configuration cannot be read, and asks no port', async () => {
    const { seen, asked, ports } = await lookAt('answers', {
      configuration: async () => {
        throw new Error('the configuration of cp1, line 4: expected a port');
      },
    });
    const unknown = { known: false, why: 'failed', message: 'the configuration of cp1, line 4: expected a port' };

    expect([seen.talos, seen.apiServer]).toEqual([unknown, unknown]);
    expect([asked, ports]).toEqual([[], []]);
  });
});

describe('the configuration that a machine keeps for its next boot', () => {
  const failing = (kind: 'refused' | 'not-found' | 'unreachable') => async () => {
    throw new TalosError({ kind, machine: 'cp1', call: 'a call', outcome: 'not-done', detail: 'no such file' });
  };

  /** What is seen where the machine shows no file, as one of metal with Talos 1.14 (it mounts STATE where nobody else looks). */
  async function keptWithout(persistent: () => Promise<unknown>) {
    const { seen } = await lookAt('answers', {
      readFile: failing('refused'),
      configuration: async (which: string) =>
        which === 'active' ? { config: Secret.of('machine-config', 'config'), version: 1n } : persistent(),
    });
    return seen.talos.known ? seen.talos.value.keptDigest : seen.talos.message;
  }

  it('is the stored resource where it shows no file', async () => {
    const staged = await keptWithout(async () => ({ config: Secret.of('machine-config', 'staged'), version: 2n }));

    expect(staged).toBe(createHash('sha256').update('staged').digest('hex'));
  });

  it('is waited for no longer than any other answer: a file may take two minutes otherwise, and a look with it', async () => {
    const asked: unknown[] = [];
    const readFile = async (_path: string, options: unknown) => {
      asked.push(options);
      return Buffer.from('config');
    };

    await lookAt('answers', { readFile });

    expect(asked).toEqual([{ deadlineMs: 10_000 }]);
  });

  it('is not known where nothing was stored in this boot', async () => {
    expect(await keptWithout(failing('not-found'))).toBeUndefined();
  });

  it('leaves the machine unknown where the question is not answered', async () => {
    expect(await keptWithout(failing('unreachable'))).toBe('unreachable: a call on cp1: no such file');
  });
});

describe('the start of a service', () => {
  const event = (state: string, at: number) => ({ state, at, message: '' });
  const startOf = async (events: object[]) => {
    const services = async () => [{ id: 'kubelet', state: 'Running', healthy: true, events }];
    const { seen } = await lookAt('answers', { services });
    return seen.talos.known ? seen.talos.value.kubelet.startedAt : undefined;
  };

  it('is the event that follows another state: its health adds more of the same', async () => {
    const restarted = [event('Running', 1), event('Stopping', 2), event('Running', 3), event('Running', 4)];

    expect(await startOf(restarted)).toBe(3);
    expect(await startOf([event('Running', 1), event('Running', 2)])).toBe(1);
  });

  it('is not known where it is further back than Talos keeps events', async () => {
    const flapping = Array.from({ length: 64 }, (_, at) => event('Running', at));

    expect(await startOf(flapping)).toBeUndefined();
    expect(await startOf(flapping.slice(1))).toBe(1);
  });
});
