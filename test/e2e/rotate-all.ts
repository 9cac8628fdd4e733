import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import type { TalosCluster } from '../talos/cluster.ts';
import { BUSY_ATTEMPT_MS } from '../talos/traffic.ts';
import { waitFor } from '../talos/wait.ts';
import { deployWorkloads, removeWorkloads, type Workloads } from '../talos/workloads.ts';
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
import { summaryOf } from './summary.ts';

/**
 * The rotation of all four CAs of a cluster of three control planes and a worker,
 * with traffic and workloads. The cluster is on other CAs afterwards, and so are
 * the files in its directory.
 */
export function rotateAllSuite(given: () => TalosCluster): void {
  describe('four CAs of a 3+1 cluster of real Talos machines, with traffic', () => {
    let cluster: TalosCluster;
    let directory: OperatorDirectory;
    let before: Before;
    let workloads: Workloads;
    let rotation: ObservedRotation;
    let oldKeys: string[];

    const reboots = () =>
      cluster.machines.map((machine) => [machine.name, machine.boots() - (before.boots[machine.name] ?? 0)] as const);

    beforeAll(async () => {
      cluster = given();
      await cluster.healthy();
      workloads = await deployWorkloads(cluster);
      directory = await operatorDirectory(cluster);
      before = await takeBefore(cluster);
      oldKeys = await keysOf(cluster.secretsFile);
      rotation = await observeRotation({
        cluster,
        directory: directory.path,
        args: ['--all', '--previous-bundle', 'remove'],
        attemptMs: BUSY_ATTEMPT_MS,
      });
      await directory.handBack();
      console.info(rotation.output + summaryOf(rotation, reboots()));
    }, 2_400_000);

    afterAll(async () => {
      await directory?.[Symbol.asyncDispose]();
      if (workloads !== undefined) await removeWorkloads(cluster);
    });

    it('ends with exit code 0', () => {
      expect(rotation.exitCode, rotation.output.slice(-3_000)).toBe(0);
    });

    it('replaces every CA in the bundle and keeps the identity of the cluster', async () => {
      const after = await bundleIn(directory.path);

      for (const target of CA_TARGETS) {
        expect(caOf(after, target).certificate.fingerprint).not.toBe(
          caOf(before.bundle, target).certificate.fingerprint,
        );
      }
      expectIdentityKept(before.bundle, after);
      expectNothingLeft(directory.path);
    });

    it('leaves a cluster that Talos, Kubernetes and etcd call healthy, and nothing cordoned', async () => {
      await expectHealthy(cluster);
    }, 900_000);

    it('loses no request, no write and no moment', () => {
      const { traffic } = rotation;
      console.info(`traffic: ${JSON.stringify({ ...traffic, examples: undefined })}`);

      expect(traffic.failed, traffic.failures.join('\n')).toBe(0);
      expect(traffic.lostWrites).toBe(0);
      expect(traffic.allDown.times).toBe(0);
    });

    it('reboots each control plane twice and no worker', () => {
      expect(Object.fromEntries(reboots())).toEqual({ cp1: 2, cp2: 2, cp3: 2, w1: 0 });
    });

    it('tells the cluster what was done to each control plane, and which stage it is in', async () => {
      const { stdout } = await cluster.kubectl(['get', 'events', '-n', 'default', '-o', 'json']);
      const { items } = JSON.parse(stdout) as {
        items: { involvedObject: { name: string }; action?: string; message: string }[];
      };
      const about = (name: string) => items.filter(({ involvedObject }) => involvedObject.name === name);
      const doneTo = (name: string) => [...new Set(about(name).flatMap(({ action }) => action ?? []))];

      for (const plane of ['cp1', 'cp2', 'cp3']) {
        expect(doneTo(plane)).toEqual(expect.arrayContaining(['ApplyConfig', 'Cordon', 'Reboot', 'Uncordon']));
      }
      expect(doneTo('w1')).toContain('ApplyConfig');
      expect(about('kube-system').map(({ message }) => message)).toEqual(
        expect.arrayContaining([expect.stringContaining('in Dropping')]),
      );
    });

    it('leaves machines whose configuration talosctl accepts', async () => {
      await expectValidConfigurations(cluster);
    });

    it('has the old talosconfig, kubeconfig, etcd client and front-proxy certificate refused everywhere', async () => {
      await expectOldRefused(cluster, before, CA_TARGETS);
    });

    it('keeps the aggregated API of a server that reloads its trust', async () => {
      expect(await workloads.pings('reload')).toBe(true);
    });

    it('leaves the in-cluster client that reloads its trust served', async () => {
      await waitFor('a request that succeeds', 60_000, async () => {
        return (await workloads.client('reload')).failuresInARow === 0;
      });
      const { requests, failures, longestStallMs } = await workloads.client('reload');
      console.info(`in-cluster client: ${JSON.stringify({ requests, failures, longestStallMs })}`);
    });

    it('prints no byte of any private key', async () => {
      const keys = [...oldKeys, ...(await keysOf(join(directory.path, 'secrets.yaml')))];
      const operation = readFileSync(join(directory.path, 'audit.jsonl'), 'utf8');

      expect(findKeyBytes({ output: rotation.output, audit: operation }, keys)).toEqual([]);
    });

    it('keeps the engine small, and says what it cost', () => {
      console.info(
        `engine: ${rotation.cpuMs} ms CPU, ${Math.round(rotation.peakRssBytes / 1e6)} MB, wall ${Math.round(rotation.wallMs / 1000)} s`,
      );

      // The benchmark holds it to 150 MB; here a busy collector may be late, and only a leak is a fault.
      expect(rotation.peakRssBytes).toBeLessThan(200e6);
    });
  });
}
