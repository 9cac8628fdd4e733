import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type KubeClient, type KubeObject, pathOf } from '../../../pkg/kube/index.ts';
import { type EncryptionChange, type RenderStage, renderStage } from '../../../pkg/machineconfig/index.ts';
import { createEncryptionKey, type EncryptionKey, type EncryptionProvider } from '../../../pkg/pki/index.ts';
import { aMachineConfig, type ClusterMaterial, someMaterial } from '../../builders/machine-config.ts';
import { describeReal } from '../../support/real.ts';
import { output } from '../../support/run.ts';
import { toolPath } from '../../tools/tools.ts';
import { type ApiServer, type ControlPlane, startControlPlane } from '../kube/control-plane.ts';

const SECRETS = pathOf('api', 'v1', 'namespaces', 'default', 'secrets');
const TALOS = { talosVersion: 'v1.14.1' };

/** Providers before and after. */
const SWITCHES: readonly (readonly [EncryptionProvider, EncryptionProvider])[] = [
  ['secretbox', 'secretbox'],
  ['aescbc', 'aescbc'],
  ['aesgcm', 'aesgcm'],
  ['aescbc', 'secretbox'],
];

describeReal(
  'kube-apiserver takes every encryption that is rendered',
  { tools: ['etcd', 'etcdctl', 'kube-apiserver'] },
  () => {
    let plane: ControlPlane;
    let material: ClusterMaterial;

    beforeAll(async () => {
      plane = await startControlPlane({ apiServers: 0 });
      material = await someMaterial();
    });
    afterAll(() => plane[Symbol.asyncDispose]());

    /** A typed configuration whose only encryption key is the old one. */
    function configWith(old: EncryptionKey): string {
      return aMachineConfig({ material: { ...material, encryption: old }, shape: 'typed' });
    }

    /** What Talos hands to kube-apiserver: the document's `config`, with the type filled in. */
    function encryptionFileOf(config: string, name: string): string {
      const document = parseAllDocuments(config)
        .map((each) => each.toJS() as { kind?: string; config?: object })
        .find(({ kind }) => kind === 'KubeEtcdEncryptionConfig');
      const path = join(plane.directory, `${name}.json`);
      const file = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', ...document?.config };
      writeFileSync(path, JSON.stringify(file), { mode: 0o600 });
      return path;
    }

    async function withServer<T>(config: string, name: string, use: (client: KubeClient) => Promise<T>): Promise<T> {
      const file = encryptionFileOf(config, name);
      const server: ApiServer = await plane.addApiServer([`--encryption-provider-config=${file}`]);
      try {
        return await use(plane.client({ server: server.url }));
      } finally {
        await server.process.stop('SIGKILL');
      }
    }

    async function store(client: KubeClient, name: string): Promise<void> {
      await client.request({
        method: 'POST',
        path: SECRETS,
        body: { metadata: { name }, stringData: { text: name } },
        contentType: 'application/json',
        doing: `create the Secret ${name}`,
      });
    }

    async function read(client: KubeClient, name: string): Promise<string> {
      const secret = await client.request<KubeObject & { data: { text: string } }>({
        method: 'GET',
        path: `${SECRETS}/${name}`,
        doing: `read the Secret ${name}`,
      });
      return Buffer.from(secret.data.text, 'base64').toString();
    }

    async function rewrite(client: KubeClient, name: string): Promise<void> {
      const secret = await client.request<KubeObject>({
        method: 'GET',
        path: `${SECRETS}/${name}`,
        doing: `read the Secret ${name}`,
      });
      await client.request({
        method: 'PUT',
        path: `${SECRETS}/${name}`,
        body: secret,
        contentType: 'application/json',
        doing: `rewrite the Secret ${name}`,
      });
    }

    async function storedPrefix(name: string): Promise<string> {
      const value = await output(toolPath('etcdctl'), [
        ...['--endpoints', plane.etcdUrl, 'get', `/registry/secrets/default/${name}`, '--print-value-only'],
      ]);
      return /^k8s:enc:[a-z]+:v1:[^:]+:/.exec(value)?.[0] ?? 'not encrypted';
    }

    it.each(SWITCHES)(
      'from %s to %s: each stage starts, reads what was written before, and writes with its key',
      async (from, to) => {
        const old = createEncryptionKey(from, 'key2');
        const fresh = createEncryptionKey(to, 'key3');
        const change: EncryptionChange = { target: 'etcd-encryption', old, new: fresh };
        const at = (stage: RenderStage) => renderStage(configWith(old), [change], stage, TALOS);
        const name = (part: string) => `${from}-${to}-${part}`;

        await withServer(at('Accepting'), name('accepting'), async (client) => {
          await store(client, name('first'));
        });
        expect(await storedPrefix(name('first'))).toBe(`k8s:enc:${from}:v1:key2:`);

        await withServer(at('Issuing'), name('issuing'), async (client) => {
          expect(await read(client, name('first'))).toBe(name('first'));
          await store(client, name('second'));
          await rewrite(client, name('first'));
        });
        expect(await storedPrefix(name('second'))).toBe(`k8s:enc:${to}:v1:key3:`);
        expect(await storedPrefix(name('first'))).toBe(`k8s:enc:${to}:v1:key3:`);

        await withServer(at('Dropping'), name('dropping'), async (client) => {
          expect(await read(client, name('first'))).toBe(name('first'));
          expect(await read(client, name('second'))).toBe(name('second'));
          await client.request({ method: 'DELETE', path: SECRETS, doing: 'delete the Secrets of this test' });
        });
      },
      400_000,
    );
  },
);
