import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { backupKey, openBundle, type SecretsBundle } from '../../pkg/bundle/index.ts';
import { folderOf } from '../support/folder.ts';
import { run } from '../support/run.ts';
import type { TalosCluster } from '../talos/cluster.ts';
import { toolPath } from '../tools/tools.ts';
import { etcdHealth, TLS_REFUSAL, tryEtcdClient, tryFrontProxy } from './refusals.ts';

/** What is compared between before and after a rotation. */
export interface Before {
  readonly bundle: SecretsBundle;
  readonly boots: Readonly<Record<string, number>>;
  /** Texts of the credentials that must be refused afterwards. */
  readonly talosconfig: string;
  readonly kubeconfig: string;
}

/** Takes down what a cluster and its directory are like before a rotation. */
export async function takeBefore(cluster: TalosCluster): Promise<Before> {
  const { bundle } = await openBundle(readFileSync(cluster.secretsFile), { path: 'secrets.yaml' });
  return {
    bundle,
    boots: Object.fromEntries(cluster.machines.map((machine) => [machine.name, machine.boots()])),
    talosconfig: readFileSync(cluster.talosconfigFile, 'utf8'),
    kubeconfig: readFileSync(cluster.kubeconfigFile, 'utf8'),
  };
}

/** The bundle that a directory holds now. */
export async function bundleIn(directory: string): Promise<SecretsBundle> {
  return (await openBundle(readFileSync(join(directory, 'secrets.yaml')), { path: 'secrets.yaml' })).bundle;
}

/** Nothing of the rotation is left in the directory but the operation, its trail and the new material. */
export function expectNothingLeft(directory: string): void {
  const files = readdirSync(directory);
  expect(
    files.filter(
      (name) =>
        name.startsWith('rotation') || name.includes('previous') || name.endsWith('.new') || name.endsWith('.old'),
    ),
  ).toEqual([]);
  expect(existsSync(join(directory, 'secrets.yaml'))).toBe(true);
}

/** What never changes: the cluster's identity, and with it the key of its etcd backups. */
export function expectIdentityKept(before: SecretsBundle, after: SecretsBundle): void {
  expect(after.clusterId).toBe(before.clusterId);
  expect(after.clusterSecret.equals(before.clusterSecret)).toBe(true);
  expect(backupKey(after).equals(backupKey(before))).toBe(true);
}

/** etcd's client port. */
const ETCD_PORT = 2379;

/**
 * Talos, Kubernetes and etcd, asked by their own tools, call the cluster healthy, and no node is cordoned.
 *
 * @param cluster its directory holds the credentials and the bundle that are valid now
 */
export async function expectHealthy(cluster: TalosCluster): Promise<void> {
  await cluster.healthy();
  const nodes = await cluster.kubectl(['get', 'nodes', '-o', 'json']);
  expect(nodes.code, nodes.stderr).toBe(0);
  const { items } = JSON.parse(nodes.stdout) as {
    items: { metadata: { name: string }; spec: { unschedulable?: boolean } }[];
  };
  expect(items.map((item) => item.metadata.name).sort()).toEqual(
    cluster.machines.map((machine) => machine.name).sort(),
  );
  expect(items.filter((item) => item.spec.unschedulable === true)).toEqual([]);
  for (const machine of cluster.controlPlanes) {
    const status = await cluster.talosctl(['etcd', 'status'], { node: machine.address });
    expect(status.code, `${machine.name}: ${status.stderr}`).toBe(0);
  }
  const { etcd } = await bundleIn(cluster.directory);
  const members = cluster.controlPlanes.map(({ address }) => `https://${address}:${ETCD_PORT}`);
  const health = await etcdHealth(members, { signer: etcd, serverCa: etcd.certificate });
  expect(health.accepted, health.said).toBe(true);
}

/** `talosctl validate` accepts what every machine runs with now. */
export async function expectValidConfigurations(cluster: TalosCluster): Promise<void> {
  await using folder = await folderOf({});
  for (const machine of cluster.machines) {
    const read = await cluster.talosctl(['get', 'machineconfig', 'v1alpha1', '-o', 'yaml'], {
      node: machine.address,
    });
    expect(read.code, `${machine.name}: ${read.stderr}`).toBe(0);
    const file = join(folder.path, `${machine.name}.yaml`);
    await writeFile(file, (parse(read.stdout) as { spec: string }).spec, { mode: 0o600 });
    const verdict = await run(toolPath('talosctl'), ['validate', '-m', 'container', '-c', file]);
    expect(verdict.code, `${machine.name}: ${verdict.stderr}`).toBe(0);
  }
}

/**
 * Nothing of before the rotation opens anything any more: the talosconfig on every
 * machine; the kubeconfig, a client certificate for etcd and a front-proxy
 * certificate on every control plane. Each is tried by a tool that knows nothing of
 * Ichor, and one of the new CA is accepted by the same tool in the same place.
 *
 * @param cluster its directory holds the credentials and the bundle of after the rotation
 */
export async function expectOldRefused(
  cluster: TalosCluster,
  before: Before,
  targets: readonly string[],
): Promise<void> {
  if (targets.includes('talos')) await expectOldTalosconfigRefused(cluster, before);
  if (targets.includes('kubernetes')) await expectOldKubeconfigRefused(cluster, before);
  const after = await bundleIn(cluster.directory);
  if (targets.includes('etcd')) await expectOldEtcdClientRefused(cluster, before.bundle, after);
  if (targets.includes('kubernetes-aggregator')) await expectOldFrontProxyRefused(cluster, before.bundle, after);
}

async function expectOldTalosconfigRefused(cluster: TalosCluster, before: Before): Promise<void> {
  await using folder = await folderOf({ talosconfig: before.talosconfig });
  for (const { name, address } of cluster.machines) {
    const args = ['--talosconfig', join(folder.path, 'talosconfig'), '-e', address, '-n', address, 'version'];
    const result = await run(toolPath('talosctl'), args, { timeoutMs: 20_000 });
    expect(result.code, `the old talosconfig at ${name}`).not.toBe(0);
    expect(`${result.stdout}${result.stderr}`).toMatch(/certificate|authority/);
  }
}

async function expectOldKubeconfigRefused(cluster: TalosCluster, before: Before): Promise<void> {
  await using folder = await folderOf({ kubeconfig: before.kubeconfig });
  for (const server of cluster.apiServers) {
    const kubeconfig = join(folder.path, 'kubeconfig');
    const args = ['--kubeconfig', kubeconfig, '--server', server, '--request-timeout=5s', 'get', 'nodes'];
    const trusting = await run(toolPath('kubectl'), args, { timeoutMs: 20_000 });
    expect(trusting.code, `the old kubeconfig at ${server}`).not.toBe(0);
    expect(trusting.stderr).toMatch(/certificate/);
    const blind = await run(toolPath('kubectl'), [...args, '--insecure-skip-tls-verify'], { timeoutMs: 20_000 });
    expect(blind.code, `the old client certificate at ${server}`).not.toBe(0);
  }
}

async function expectOldEtcdClientRefused(
  cluster: TalosCluster,
  before: SecretsBundle,
  after: SecretsBundle,
): Promise<void> {
  const serverCa = after.etcd.certificate;
  for (const { name, address } of cluster.controlPlanes) {
    const server = `https://${address}:${ETCD_PORT}`;
    const old = await tryEtcdClient({ server, signer: before.etcd, serverCa });
    expect(old.accepted, `an etcd client certificate of the old CA at ${name}: ${old.said}`).toBe(false);
    expect(old.said, `what etcdctl says at ${name}`).toMatch(TLS_REFUSAL);
    const present = await tryEtcdClient({ server, signer: after.etcd, serverCa });
    expect(present.accepted, `an etcd client certificate of the new CA at ${name}: ${present.said}`).toBe(true);
  }
}

async function expectOldFrontProxyRefused(
  cluster: TalosCluster,
  before: SecretsBundle,
  after: SecretsBundle,
): Promise<void> {
  const serverCa = after.kubernetes.certificate;
  for (const server of cluster.apiServers) {
    const old = await tryFrontProxy({ server, signer: before.aggregator, serverCa });
    expect(old, `HTTP status for a front-proxy certificate of the old CA at ${server}`).toBe(401);
    const present = await tryFrontProxy({ server, signer: after.aggregator, serverCa });
    expect(present, `HTTP status for a front-proxy certificate of the new CA at ${server}`).toBe(200);
  }
}
