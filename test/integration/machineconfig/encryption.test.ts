import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type KubeClient, type KubeObject, pathOf } from '../../../pkg/kube/index.ts';
import { type EncryptionChange, type RenderStage, renderStage } from '../../../pkg/machineconfig/index.ts';
import { createEncryptionKey, type EncryptionProvider } from '../../../pkg/pki/index.ts';
import { aMachineConfig, someMaterial, withEncryptionRules } from '../../builders/machine-config.ts';
import { describeReal } from '../../support/real.ts';
import { output } from '../../support/run.ts';
import { toolPath } from '../../tools/tools.ts';
import { type ControlPlane, startControlPlane } from '../kube/control-plane.ts';

/** A kind of object with a rule of its own, and the provider that its key goes from and to. */
interface Switch {
  readonly resource: string;
  readonly from: EncryptionProvider;
  readonly to: EncryptionProvider;
  /** What the kind needs besides a name. */
  readonly body: object;
}

const SWITCHES: readonly Switch[] = [
  { resource: 'secrets', from: 'secretbox', to: 'secretbox', body: { stringData: { a: 'b' } } },
  {
    resource: 'limitranges',
    from: 'aescbc',
    to: 'aescbc',
    body: { spec: { limits: [{ type: 'Pod', max: { cpu: '1' } }] } },
  },
  { resource: 'serviceaccounts', from: 'aesgcm', to: 'aesgcm', body: {} },
  { resource: 'resourcequotas', from: 'aescbc', to: 'secretbox', body: { spec: { hard: { pods: '9' } } } },
];

describeReal(
  'kube-apiserver takes every encryption that is rendered',
  { tools: ['etcd', 'etcdctl', 'kube-apiserver'] },
  () => {
    let plane: ControlPlane;
    let config: string;
    let changes: readonly EncryptionChange[];

    beforeAll(async () => {
      plane = await startControlPlane({ apiServers: 0 });
      changes = SWITCHES.map(({ resource, from, to }) => ({
        target: 'etcd-encryption',
        old: createEncryptionKey(from, `old-${resource}`),
        new: createEncryptionKey(to, `new-${resource}`),
      }));
      config = withEncryptionRules(
        aMachineConfig({ material: await someMaterial(), shape: 'typed' }),
        changes.map(({ old }, index) => ({
          resources: [SWITCHES[index]?.resource],
          providers: [
            { [old.provider]: { keys: [{ name: old.name, secret: old.secret.expose() }] } },
            { identity: {} },
          ],
        })),
      );
    });
    afterAll(() => plane[Symbol.asyncDispose]());

    /** A server with what Talos hands to it at a stage: the document's `config` with the type filled in. */
    async function withServer(stage: RenderStage, use: (client: KubeClient) => Promise<void>): Promise<void> {
      const rendered = changes.reduce(
        (text, change) => renderStage(text, [change], stage, { talosVersion: 'v1.14.1' }),
        config,
      );
      const document = parseAllDocuments(rendered)
        .map((each) => each.toJS() as { kind?: string; config?: object })
        .find(({ kind }) => kind === 'KubeEtcdEncryptionConfig');
      const path = join(plane.directory, `${stage}.json`);
      const file = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', ...document?.config };
      writeFileSync(path, JSON.stringify(file), { mode: 0o600 });
      const server = await plane.addApiServer([`--encryption-provider-config=${path}`]);
      try {
        await use(plane.client({ server: server.url }));
      } finally {
        await server.process.stop('SIGKILL');
      }
    }

    const collection = ({ resource }: Switch) => pathOf('api', 'v1', 'namespaces', 'default', resource);

    async function store(client: KubeClient, of: Switch, name: string): Promise<void> {
      await client.request({
        method: 'POST',
        path: collection(of),
        body: { metadata: { name, annotations: { written: name } }, ...of.body },
        contentType: 'application/json',
        doing: `create ${of.resource} ${name}`,
      });
    }

    async function read(client: KubeClient, of: Switch, name: string): Promise<KubeObject> {
      const path = `${collection(of)}/${name}`;
      return await client.request<KubeObject>({ method: 'GET', path, doing: `read ${of.resource} ${name}` });
    }

    async function written(client: KubeClient, name: string): Promise<unknown[]> {
      const objects = await Promise.all(SWITCHES.map((each) => read(client, each, name)));
      return objects.map(({ metadata }) => metadata?.annotations?.written);
    }

    async function rewrite(client: KubeClient, of: Switch, name: string): Promise<void> {
      await client.request({
        method: 'PUT',
        path: `${collection(of)}/${name}`,
        body: await read(client, of, name),
        contentType: 'application/json',
        doing: `rewrite ${of.resource} ${name}`,
      });
    }

    async function prefixes(name: string): Promise<string[]> {
      return await Promise.all(
        SWITCHES.map(async ({ resource }) => {
          const key = `/registry/${resource}/default/${name}`;
          const value = await output(toolPath('etcdctl'), [
            ...['--endpoints', plane.etcdUrl, 'get', key, '--print-value-only'],
          ]);
          return /^k8s:enc:[a-z]+:v1:[^:]+:/.exec(value)?.[0] ?? 'not encrypted';
        }),
      );
    }

    const OLD_PREFIXES = [
      'k8s:enc:secretbox:v1:old-secrets:',
      'k8s:enc:aescbc:v1:old-limitranges:',
      'k8s:enc:aesgcm:v1:old-serviceaccounts:',
      'k8s:enc:aescbc:v1:old-resourcequotas:',
    ];
    const NEW_PREFIXES = [
      'k8s:enc:secretbox:v1:new-secrets:',
      'k8s:enc:aescbc:v1:new-limitranges:',
      'k8s:enc:aesgcm:v1:new-serviceaccounts:',
      'k8s:enc:secretbox:v1:new-resourcequotas:',
    ];

    it('each stage starts, reads what was written before it, and writes with its key, for every provider', async () => {
      await withServer('Accepting', async (client) => {
        for (const each of SWITCHES) await store(client, each, 'first');
      });
      expect(await prefixes('first')).toEqual(OLD_PREFIXES);

      await withServer('Issuing', async (client) => {
        expect(await written(client, 'first')).toEqual(Array(4).fill('first'));
        for (const each of SWITCHES) {
          await store(client, each, 'second');
          await rewrite(client, each, 'first');
        }
      });
      expect(await prefixes('second')).toEqual(NEW_PREFIXES);
      expect(await prefixes('first')).toEqual(NEW_PREFIXES);

      await withServer('Dropping', async (client) => {
        expect(await written(client, 'first')).toEqual(Array(4).fill('first'));
        expect(await written(client, 'second')).toEqual(Array(4).fill('second'));
      });
    }, 400_000);
  },
);
