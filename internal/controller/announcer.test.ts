import { describe, expect, it } from 'vitest';
import type { KubeClient, KubeRequest } from '../../pkg/kube/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import { aBundleDocument, TEST_DAY_MS } from '../../test/builders/bundle.ts';
import { createManualClock, type ManualClock } from '../../test/builders/manual-clock.ts';
import { anObservation } from '../../test/builders/rotation.ts';
import type { Decision } from '../rotation/decision.ts';
import { type Announcer, createAnnouncer } from './announcer.ts';
import type { Connections, EngineStore } from './ports.ts';
import type { Reconciled } from './reconcile.ts';
import type { Readers } from './session.ts';

interface Sent {
  readonly server: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Setup {
  readonly announcer: Announcer;
  readonly clock: ManualClock;
  readonly sent: Sent[];
  /** What was said of events that no server took. */
  readonly lost: string[];
  /** What each server does with an event; by default it takes it. */
  readonly servers: Record<string, () => Promise<void>>;
}

/** Three control planes and a worker whose API servers take events. */
async function setUp(): Promise<Setup> {
  const clock = createManualClock(TEST_DAY_MS + 86_400_000);
  const sent: Sent[] = [];
  const lost: string[] = [];
  const servers: Record<string, () => Promise<void>> = {};
  const { bundle } = await aBundleDocument();
  const store = { readState: async () => ({ bundle }) } as unknown as EngineStore;
  const connections = {
    talos: ({ name }: { name: string }) => ({
      name,
      kubeconfig: async () => Secret.of('kubeconfig', name),
      configuration: async () => ({ config: Secret.of('machine-config', 'version: v1alpha1\n'), version: 1n }),
      use() {},
      reconnect() {},
      close() {},
    }),
    kube: ({ server }: { server: string }): KubeClient =>
      ({
        async request({ body }: KubeRequest) {
          await servers[server]?.();
          sent.push({ server, body: body as Sent['body'] });
        },
        close() {},
      }) as unknown as KubeClient,
  } as unknown as Connections;
  const kubeconfig = (async (text: string) => ({ server: text })) as unknown as Readers['kubeconfig'];
  return {
    announcer: createAnnouncer({
      ports: { clock, connections, store },
      host: 'bastion',
      readers: { kubeconfig, apiServerPort: () => 6443 },
      onLost: (why) => lost.push(why),
    }),
    ...{ clock, sent, lost, servers },
  };
}

function aLook(decision: Decision): Reconciled {
  const observation = anObservation({ controlPlanes: 3, workers: 1 });
  return { decision, observation, operation: observation.operation, recheckAfterMs: 0 };
}

const cordoning: Decision = {
  kind: 'act',
  effect: { kind: 'cordon', machine: 'cp1' },
  reason: 'CordoningControlPlane',
  message: 'cp1: cordoning it before its reboot',
};

const blocked = (message: string): Decision => ({
  ...{ kind: 'blocked', reason: 'EtcdNotWhole', message, recheckAfterMs: 30_000 },
});

describe('createAnnouncer', () => {
  it('records an event on the Node that something is done to, through another control plane', async () => {
    const { announcer, sent } = await setUp();

    announcer.look(aLook(cordoning));
    await announcer.close();

    expect(sent).toEqual([
      {
        server: 'cp2',
        body: {
          apiVersion: 'events.k8s.io/v1',
          kind: 'Event',
          metadata: { generateName: 'cp1-', namespace: 'default' },
          eventTime: '2026-11-30T00:00:00.000000Z',
          reportingController: 'ichor.maesh.dev/ichor',
          reportingInstance: 'bastion',
          type: 'Normal',
          reason: 'CordoningControlPlane',
          action: 'Cordon',
          note: 'cp1: cordoning it before its reboot',
          regarding: { apiVersion: 'v1', kind: 'Node', name: 'cp1', namespace: '', uid: 'cp1' },
        },
      },
    ]);
  });

  it('asks the next server where one does not take it, the machine itself last', async () => {
    const { announcer, sent, servers } = await setUp();
    const refuse = async () => {
      throw new Error('refused');
    };
    Object.assign(servers, { cp2: refuse, cp3: refuse });

    announcer.look(aLook(cordoning));
    await announcer.close();

    expect(sent.map(({ server }) => server)).toEqual(['cp1']);
  });

  it('says what no server took', async () => {
    const { announcer, sent, lost, servers } = await setUp();
    const refuse = async () => {
      throw new Error('forbidden');
    };
    Object.assign(servers, { cp1: refuse, cp2: refuse, cp3: refuse });

    announcer.look(aLook(cordoning));
    await announcer.close();

    expect(sent).toEqual([]);
    expect(lost).toEqual(['the event "Cordon: cp1: cordoning it before its reboot" is lost: forbidden']);
  });

  it('says the same only once, whatever its countdown, and something else again', async () => {
    const { announcer, sent } = await setUp();

    for (const text of ['cp2 is down for 5 s', 'cp2 is down for 35 s', 'cp3 is down for 35 s', 'cp2 is down for 65 s'])
      announcer.look(aLook(blocked(text)));
    await announcer.close();

    expect(sent.map(({ body }) => body.note)).toEqual([
      'cp2 is down for 5 s',
      'cp3 is down for 35 s',
      'cp2 is down for 65 s',
    ]);
  });

  it('leaves out what comes while too many wait, and ends after a moment where no server answers', async () => {
    const { announcer, clock, sent, servers } = await setUp();
    let asked = 0;
    const hang = () => {
      asked += 1;
      return new Promise<void>(() => undefined);
    };
    Object.assign(servers, { cp1: hang, cp2: hang, cp3: hang });

    for (let number = 0; number < 50; number += 1) announcer.look(aLook(blocked(`text ${'x'.repeat(number)}`)));
    const closed = announcer.close();
    await clock.whenSleeping();
    await clock.advance(3_000);
    await closed;

    expect(asked).toBeLessThanOrEqual(1);
    expect(sent).toEqual([]);
  });

  it('never throws, whatever the store says', async () => {
    const { clock } = await setUp();
    const store = { readState: () => Promise.reject(new Error('gone')) } as unknown as EngineStore;
    const announcer = createAnnouncer({
      ports: { clock, connections: {} as Connections, store },
      host: 'bastion',
    });

    announcer.look(aLook(cordoning));

    await expect(announcer.close()).resolves.toBeUndefined();
  });
});
