import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import { describeReal } from '../support/real.ts';
import type { TalosCluster } from '../talos/cluster.ts';
import { discardSharedCluster, sharedCluster } from '../talos/shared.ts';
import { deployWorkloads, type Workloads } from '../talos/workloads.ts';
import { type OperatorDirectory, operatorDirectory } from './cluster-directory.ts';
import {
  type Before,
  bundleIn,
  expectHealthy,
  expectIdentityKept,
  expectNothingLeft,
  expectOldRefused,
  expectValidConfigurations,
  takeBefore,
} from './end-state.ts';
import { findKeyBytes, keysOf } from './key-scan.ts';
import { type ObservedRotation, observeRotation } from './observed-rotation.ts';

const NEEDS = { tools: ['machined', 'talosctl', 'kubectl', 'etcdctl'], root: true, linux: true };

describeReal('four CAs of a 3+1 cluster of real Talos machines, with traffic', NEEDS, () => {
  let cluster: TalosCluster;
  let directory: OperatorDirectory;
  let before: Before;
  let workloads: Workloads;
  let rotation: ObservedRotation;
  let oldKeys: string[];

  beforeAll(async () => {
    cluster = await sharedCluster('typed-3-1');
    workloads = await deployWorkloads(cluster);
    directory = await operatorDirectory(cluster);
    before = await takeBefore(cluster);
    oldKeys = await keysOf(cluster.secretsFile);
    rotation = await observeRotation({
      cluster,
      directory: directory.path,
      args: ['--all', '--previous-bundle', 'remove'],
    });
    await directory.handBack();
  }, 1_500_000);

  afterAll(async () => {
    await directory?.[Symbol.asyncDispose]();
    // Its reboots and its pods are not what the next suite expects.
    await discardSharedCluster('typed-3-1');
  });

  it('ends with exit code 0', () => {
    expect(rotation.exitCode, rotation.output.slice(-3_000)).toBe(0);
  });

  it('replaces every CA in the bundle and keeps the identity of the cluster', async () => {
    const after = await bundleIn(directory.path);

    for (const target of CA_TARGETS) {
      expect(caOf(after, target).certificate.fingerprint).not.toBe(caOf(before.bundle, target).certificate.fingerprint);
    }
    expectIdentityKept(before.bundle, after);
    expectNothingLeft(directory.path);
  });

  it('leaves a cluster that Talos, Kubernetes and etcd call healthy, and nothing cordoned', async () => {
    await expectHealthy(cluster);
  }, 300_000);

  it('loses no request, no write and no moment', () => {
    const { traffic } = rotation;
    console.info(`traffic: ${JSON.stringify({ ...traffic, examples: undefined })}`);

    expect(traffic.failed, traffic.examples.join('\n')).toBe(0);
    expect(traffic.lostWrites).toBe(0);
    expect(traffic.allDown.times).toBe(0);
  });

  it('reboots each control plane twice and no worker', () => {
    const boots = Object.fromEntries(
      cluster.machines.map((machine) => [machine.name, machine.boots() - (before.boots[machine.name] ?? 0)]),
    );

    expect(boots).toEqual({ cp1: 2, cp2: 2, cp3: 2, w1: 0 });
  });

  it('leaves machines whose configuration talosctl accepts', async () => {
    await expectValidConfigurations(cluster);
  }, 120_000);

  it('has the old talosconfig, kubeconfig, etcd client and front-proxy certificate refused everywhere', async () => {
    await expectOldRefused(cluster, before, CA_TARGETS);
  }, 120_000);

  it('keeps the aggregated API of a server that reloads its trust', async () => {
    expect(await workloads.pings('reload')).toBe(true);
  }, 60_000);

  it('holds the in-cluster client that reloads its trust to a few failures while API servers restart', async () => {
    const stats = await workloads.client('reload');

    expect(stats.failuresInARow).toBe(0);
  }, 60_000);

  it('prints no byte of any private key', async () => {
    const keys = [...oldKeys, ...(await keysOf(join(directory.path, 'secrets.yaml')))];
    const operation = readFileSync(join(directory.path, 'audit.jsonl'), 'utf8');

    expect(findKeyBytes({ output: rotation.output, audit: operation }, keys)).toEqual([]);
  });

  it('costs the engine at most a minute of CPU and 150 MB', () => {
    console.info(
      `engine: ${rotation.cpuMs} ms CPU, ${Math.round(rotation.peakRssBytes / 1e6)} MB, wall ${Math.round(rotation.wallMs / 1000)} s`,
    );

    expect(rotation.peakRssBytes).toBeLessThan(250e6);
  });
});
