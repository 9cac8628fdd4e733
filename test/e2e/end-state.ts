import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { backupKey, openBundle, type SecretsBundle } from '../../pkg/bundle/index.ts';
import { run } from '../support/run.ts';
import type { TalosCluster } from '../talos/cluster.ts';
import { toolPath } from '../tools/tools.ts';

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

/** Talos, Kubernetes and etcd, asked by their own tools, call the cluster healthy, and no node is cordoned. */
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
}

/** `talosctl validate` accepts what every machine runs with now. */
export async function expectValidConfigurations(cluster: TalosCluster): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'ichor-configs-'));
  try {
    for (const machine of cluster.machines) {
      const read = await cluster.talosctl(['get', 'machineconfig', 'v1alpha1', '-o', 'yaml'], {
        node: machine.address,
      });
      expect(read.code, `${machine.name}: ${read.stderr}`).toBe(0);
      const file = join(directory, `${machine.name}.yaml`);
      await writeFile(file, (parse(read.stdout) as { spec: string }).spec, { mode: 0o600 });
      const verdict = await run(toolPath('talosctl'), ['validate', '-m', 'container', '-c', file]);
      expect(verdict.code, `${machine.name}: ${verdict.stderr}`).toBe(0);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The credentials of before the rotation open nothing any more: Talos on every machine, Kubernetes on every control plane. */
export async function expectOldRefused(
  cluster: TalosCluster,
  before: Before,
  targets: readonly string[],
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'ichor-old-'));
  try {
    const talosconfig = join(directory, 'talosconfig');
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(talosconfig, before.talosconfig, { mode: 0o600 });
    await writeFile(kubeconfig, before.kubeconfig, { mode: 0o600 });
    for (const machine of targets.includes('talos') ? cluster.machines : []) {
      const args = ['--talosconfig', talosconfig, '-e', machine.address, '-n', machine.address, 'version'];
      const result = await run(toolPath('talosctl'), args, { timeoutMs: 20_000 });
      expect(result.code, `the old talosconfig at ${machine.name}`).not.toBe(0);
      expect(`${result.stdout}${result.stderr}`).toMatch(/certificate|authority/);
    }
    for (const server of targets.includes('kubernetes') ? cluster.apiServers : []) {
      const args = ['--kubeconfig', kubeconfig, '--server', server, '--request-timeout=5s', 'get', 'nodes'];
      const trusting = await run(toolPath('kubectl'), args, { timeoutMs: 20_000 });
      expect(trusting.code, `the old kubeconfig at ${server}`).not.toBe(0);
      expect(trusting.stderr).toMatch(/certificate/);
      const blind = await run(toolPath('kubectl'), [...args, '--insecure-skip-tls-verify'], { timeoutMs: 20_000 });
      expect(blind.code, `the old client certificate at ${server}`).not.toBe(0);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
