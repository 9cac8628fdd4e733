import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { Event, EventType, Resource, WatchResponse } from '../../proto/generated/cosi/resource.ts';
import { MachineConfigSpec } from '../../proto/generated/talos/resources/config.ts';
import { NodenameSpec, StaticPodStatusSpec } from '../../proto/generated/talos/resources/k8s.ts';
import { KubernetesCertsSpec, KubernetesRootSpec, OSRootSpec } from '../../proto/generated/talos/resources/secrets.ts';
import { ServiceSpec } from '../../proto/generated/talos/resources/v1alpha1.ts';
import { aTalosCa, aTalosServer, type TalosServerOptions } from '../../test/builders/talos-server.ts';
import { createServiceAccountKey } from '../pki/index.ts';
import {
  createTalosMachine,
  encryptionKeyFingerprint,
  KUBERNETES_CERTIFICATES,
  KUBERNETES_ROOT,
  NODENAME,
  OS_ROOT,
  type ResourceEvent,
  SERVICE,
  type ServiceResource,
  STATIC_POD_STATUS,
  TalosError,
  type TalosMachine,
} from './index.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const item of opened.splice(0).reverse()) item.close();
});

async function aMachine(options: TalosServerOptions): Promise<TalosMachine> {
  const server = await aTalosServer(options);
  const machine = createTalosMachine({ name: 'cp1', address: server.address, port: server.port, ...server.identity });
  opened.push(server, machine);
  return machine;
}

function aResource(id: string, spec: Uint8Array, version = '7'): Resource {
  return Resource.fromPartial({
    metadata: {
      namespace: 'ns',
      type: 'T',
      id,
      version,
      phase: 'running',
      owner: 'a.Controller',
      created: new Date(1000),
    },
    spec: { protoSpec: Buffer.from(spec), yamlSpec: '' },
  });
}

function service(id: string, spec: Partial<ServiceSpec>): Resource {
  return aResource(id, ServiceSpec.encode(ServiceSpec.fromPartial(spec)).finish());
}

const pem = (text: string) => Buffer.from(text);

describe('reading a resource', () => {
  it('gives its metadata and its spec', async () => {
    const spec = NodenameSpec.encode(NodenameSpec.fromPartial({ nodename: 'node-1' })).finish();
    const machine = await aMachine({
      state: { get: (_call, reply) => reply(null, { resource: aResource('nodename', spec) }) },
    });

    expect(await machine.get(NODENAME)).toEqual({
      metadata: {
        namespace: 'ns',
        type: 'T',
        id: 'nodename',
        version: 7n,
        phase: 'running',
        owner: 'a.Controller',
        created: 1000,
        updated: 0,
        finalizers: [],
        labels: {},
        annotations: {},
      },
      spec: { nodename: 'node-1' },
    });
  });

  it('is undefined when there is none', async () => {
    const machine = await aMachine({
      state: { get: (_call, reply) => reply({ code: status.NOT_FOUND, details: 'none' }) },
    });

    expect(await machine.get(NODENAME)).toBeUndefined();
  });

  it('fails when the version is no number, naming what it was', async () => {
    const machine = await aMachine({
      state: { get: (_call, reply) => reply(null, { resource: aResource('x', new Uint8Array(), 'latest') }) },
    });

    await expect(machine.get(NODENAME)).rejects.toThrow(
      'malformed: Get Nodenames.kubernetes.talos.dev/nodename on cp1: the version "latest" is not a number',
    );
  });

  it('of a list gives an empty list when there is none', async () => {
    const machine = await aMachine({ state: { list: (call) => call.end() } });

    expect(await machine.list(SERVICE)).toEqual([]);
  });
});

describe('watching', () => {
  async function collect(events: AsyncIterable<ResourceEvent<ServiceResource>>, count: number) {
    const seen: ResourceEvent<ServiceResource>[] = [];
    for await (const event of events) {
      seen.push(event);
      if (seen.length === count) break;
    }
    return seen;
  }

  it('a kind gives what is there, then that this was all, then the changes; leaving the loop ends it on the machine', async () => {
    const ended = Promise.withResolvers<void>();
    const machine = await aMachine({
      state: {
        watch(call) {
          expect(call.request).toMatchObject({ id: undefined, apiVersion: 1, options: { bootstrapContents: true } });
          call.on('cancelled', () => ended.resolve());
          call.write(WatchResponse.fromPartial({}));
          const event = [
            Event.fromPartial({
              eventType: EventType.CREATED,
              resource: service('etcd', { running: true, unknown: true }),
            }),
          ];
          call.write({ event });
          call.write({ event: [Event.fromPartial({ eventType: EventType.BOOTSTRAPPED })] });
          call.write({
            event: [
              Event.fromPartial({
                eventType: EventType.UPDATED,
                resource: service('etcd', { running: true, healthy: true }),
              }),
            ],
          });
          call.write({ event: [Event.fromPartial({ eventType: EventType.DESTROYED, resource: service('etcd', {}) })] });
        },
      },
    });

    const seen = await collect(machine.watch(SERVICE), 4);

    expect(seen.map((event) => ('resource' in event ? [event.type, event.resource.spec] : event))).toEqual([
      ['created', { running: true, healthy: undefined }],
      { type: 'bootstrapped' },
      ['updated', { running: true, healthy: true }],
      { type: 'destroyed', id: 'etcd' },
    ]);
    await ended.promise;
  });

  it('one resource asks for it alone', async () => {
    const machine = await aMachine({
      state: {
        watch(call) {
          expect(call.request).toMatchObject({ id: 'kubelet', options: undefined });
          call.write({
            event: [Event.fromPartial({ eventType: EventType.DESTROYED, resource: service('kubelet', {}) })],
          });
        },
      },
    });

    expect(await collect(machine.watch(SERVICE, { id: 'kubelet' }), 1)).toEqual([{ type: 'destroyed', id: 'kubelet' }]);
  });

  it.each([
    ['the machine ends it', EventType.NOOP],
    ['the machine reports an error', EventType.ERRORED],
  ])('is interrupted when %s', async (_name, eventType) => {
    const machine = await aMachine({
      state: {
        watch(call) {
          call.write({ event: [Event.fromPartial({ eventType, error: 'buffer overrun' })] });
          call.end();
        },
      },
    });

    const error = await collect(machine.watch(SERVICE), 1).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(TalosError);
    expect(error).toMatchObject({ kind: 'interrupted', outcome: 'not-done' });
  });
});

describe('key material', () => {
  it('of the Talos CA is dropped; which key it was stays', async () => {
    const [ca, accepted] = [await aTalosCa(), await aTalosCa()];
    const spec = OSRootSpec.fromPartial({
      issuingCa: { crt: pem(ca.certificate.pem), key: pem(ca.key.expose()) },
      acceptedCAs: [{ crt: pem(accepted.certificate.pem) }, { crt: pem(ca.certificate.pem) }],
      token: 'abcdef.0123456789abcdef',
      certSaniPs: [{ ip: Buffer.from([10, 0, 0, 1]) }],
    });

    const root = OS_ROOT.decode(OSRootSpec.encode(spec).finish());

    expect(root.issuing).toEqual({
      certificates: [ca.certificate],
      keyFingerprint: ca.certificate.publicKeyFingerprint,
    });
    expect(root.accepted.map((one) => one.fingerprint)).toEqual([
      accepted.certificate.fingerprint,
      ca.certificate.fingerprint,
    ]);
    expect(root.sanIps).toEqual(['10.0.0.1']);
    const printed = JSON.stringify(root);
    expect(printed).not.toContain('PRIVATE KEY');
    expect(printed).not.toContain('0123456789abcdef');
  });

  it('of Kubernetes is dropped: CA, service account, encryption', async () => {
    const ca = await aTalosCa();
    const [signing, accepted] = [await createServiceAccountKey(), await createServiceAccountKey()];
    const secret = Buffer.alloc(32, 7).toString('base64');
    const spec = KubernetesRootSpec.fromPartial({
      issuingCa: { crt: pem(ca.certificate.pem), key: pem(ca.key.expose()) },
      serviceAccount: { key: pem(signing.privateKey.expose()) },
      serviceAccountAcceptedKeys: [{ key: pem(accepted.publicKey) }],
      secretboxEncryptionSecret: secret,
      etcdEncryptionConfig: {
        resources: [
          {
            resources: ['secrets'],
            providers: [{ secretbox: { keys: [{ name: 'key2', secret }] } }, { identity: {} }],
          },
        ],
      },
    });

    const root = KUBERNETES_ROOT.decode(KubernetesRootSpec.encode(spec).finish());

    const key = { provider: 'secretbox', name: 'key2', fingerprint: encryptionKeyFingerprint(secret) };
    expect(root.serviceAccountKey).toBe(signing.fingerprint);
    expect(root.acceptedServiceAccountKeys).toEqual([accepted.fingerprint]);
    expect(root.legacyEncryption).toEqual([key]);
    expect(root.encryption).toEqual([
      { resources: ['secrets'], keys: [key, { provider: 'identity', name: '', fingerprint: undefined }] },
    ]);
    expect(JSON.stringify(root)).not.toContain(secret);
    expect(JSON.stringify(root)).not.toContain('PRIVATE KEY');
  });

  it.each([
    [{ resources: 'x' }, 'etcdEncryptionConfig.resources is a string, not a list'],
    [{ resources: ['x'] }, 'etcdEncryptionConfig.resources[0] is a string, not a map'],
    [{ resources: [{ resources: [1] }] }, 'etcdEncryptionConfig.resources[0].resources is a number, not a text'],
    [{ resources: [{ providers: { a: 1 } }] }, 'etcdEncryptionConfig.resources[0].providers is a map, not a list'],
    [
      { resources: [{ providers: [{ secretbox: { keys: [{ name: 'a', secret: 12345 }] } }] }] },
      'etcdEncryptionConfig.resources[0].providers[0].secretbox.keys[0].secret is a number, not a text',
    ],
  ])('of an encryption configuration that kube-apiserver could not read is told by place: %j', (config, message) => {
    const spec = KubernetesRootSpec.fromPartial({ etcdEncryptionConfig: config });

    const read = () => KUBERNETES_ROOT.decode(KubernetesRootSpec.encode(spec).finish());

    expect(read).toThrow(new Error(`KubernetesRootSecrets/k8s ${message}`));
  });

  it('of a worker, which has none, is undefined', () => {
    const root = OS_ROOT.decode(OSRootSpec.encode(OSRootSpec.fromPartial({ token: 'x' })).finish());

    expect(root.issuing).toBeUndefined();
  });

  it('of kubeconfigs is dropped; whom they trust and what they present stays', async () => {
    const ca = await aTalosCa();
    const data = Buffer.from(ca.certificate.pem).toString('base64');
    const schedulerKubeconfig = [
      'clusters: [{name: c, cluster: {server: "https://127.0.0.1:7445", certificate-authority-data: CA}}]',
      'users: [{name: u, user: {client-certificate-data: CA, client-key-data: c2VjcmV0}}]',
    ]
      .join('\n')
      .replaceAll('CA}', `${data}}`)
      .replace('CA,', `${data},`);

    const { scheduler, admin } = KUBERNETES_CERTIFICATES.decode(
      KubernetesCertsSpec.encode(KubernetesCertsSpec.fromPartial({ schedulerKubeconfig })).finish(),
    );

    expect(scheduler).toEqual({ server: 'https://127.0.0.1:7445', trust: [ca.certificate], client: [ca.certificate] });
    expect(admin).toBeUndefined();
    expect(JSON.stringify(scheduler)).not.toContain('c2VjcmV0');
  });

  it('is not quoted when a field is broken', async () => {
    const ca = await aTalosCa();
    const broken = ca.key.expose().replace('-----END', '=====END');
    const spec = OSRootSpec.fromPartial({ issuingCa: { crt: pem(ca.certificate.pem), key: pem(broken) } });
    const machine = await aMachine({
      state: { get: (_call, reply) => reply(null, { resource: aResource('os', OSRootSpec.encode(spec).finish()) }) },
    });

    const error = await machine.get(OS_ROOT).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ kind: 'malformed' });
    expect(String(error)).toContain('OSRootSecrets/os issuingCA');
    expect(`${(error as Error).stack}${String((error as Error).cause)}`).not.toContain(ca.key.expose().split('\n')[1]);
  });

  it('of the configuration comes as a secret, byte for byte', async () => {
    const text = '\ufeff# comment\r\nmachine: {}\n';
    const spec = MachineConfigSpec.encode({ yamlMarshalled: Buffer.from(text) }).finish();
    const machine = await aMachine({
      state: {
        get(call, reply) {
          expect(call.request).toMatchObject({
            namespace: 'config',
            type: 'MachineConfigs.config.talos.dev',
            id: 'persistent',
          });
          reply(null, { resource: aResource('persistent', spec, '12') });
        },
      },
    });

    const { config, version } = await machine.configuration('persistent');

    expect(config.expose()).toBe(text);
    expect(version).toBe(12n);
    expect(JSON.stringify({ config })).toBe('{"config":"[machine-config redacted]"}');
  });

  it('of a configuration that is no text is not lost in a replacement character', async () => {
    const spec = MachineConfigSpec.encode({ yamlMarshalled: Buffer.from([0x61, 0xff]) }).finish();
    const machine = await aMachine({
      state: { get: (_call, reply) => reply(null, { resource: aResource('v1alpha1', spec) }) },
    });

    await expect(machine.configuration('active')).rejects.toMatchObject({ kind: 'malformed' });
  });
});

describe('static pods', () => {
  it('say whether they are ready and since when their container runs', () => {
    const podStatus = {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        { containerID: 'containerd://abc', restartCount: 2, state: { running: { startedAt: '2026-11-29T21:56:33Z' } } },
      ],
    };

    expect(STATIC_POD_STATUS.decode(StaticPodStatusSpec.encode({ podStatus }).finish())).toEqual({
      phase: 'Running',
      ready: true,
      startedAt: 1_795_989_393_000,
      containerId: 'containerd://abc',
      restartCount: 2,
    });
  });
});
