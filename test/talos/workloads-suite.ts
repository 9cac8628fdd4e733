import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { succeeded } from './clients.ts';
import type { TalosCluster } from './cluster.ts';
import { waitFor } from './wait.ts';
import { deployWorkloads, removeWorkloads, type Workloads } from './workloads.ts';

/** The test workloads, on a cluster that has a worker; removes them again. */
export function workloadsSuite(given: () => TalosCluster): void {
  describe('the test workloads', () => {
    let cluster: TalosCluster;
    let workloads: Workloads;

    beforeAll(async () => {
      cluster = given();
      await cluster.healthy();
      workloads = await deployWorkloads(cluster);
    });

    afterAll(async () => {
      if (cluster === undefined) return;
      await removeWorkloads(cluster);
    });

    it.each(['reload', 'once'] as const)(
      'an in-cluster client (%s) reaches the API with its token',
      async (reading) => {
        const before = await workloads.client(reading);
        await waitFor(
          'more requests',
          60_000,
          async () => (await workloads.client(reading)).requests > before.requests + 5,
        );

        const stats = await workloads.client(reading);
        expect(stats).toMatchObject({ mode: reading, failuresInARow: 0 });
        expect(stats.caFingerprints).toHaveLength(1);
      },
    );

    it.each(['reload', 'once'] as const)('an aggregated API (%s) answers through every API server', async (reading) => {
      const before = (await workloads.aggregated(reading)).served;

      expect(await workloads.pings(reading)).toBe(true);

      const stats = await workloads.aggregated(reading);
      expect(stats.served).toBeGreaterThanOrEqual(before + 3);
      expect(stats).toMatchObject({ mode: reading, lastName: 'front-proxy-client', loadError: '' });
      expect(stats.caFingerprints).toHaveLength(1);
    });

    it('an aggregated API refuses who shows no front-proxy certificate', async () => {
      const worker = cluster.workers[0]?.address ?? '';
      const before = (await workloads.aggregated('once')).refused;
      const args = [
        '--insecure-skip-tls-verify',
        '--server',
        `https://${worker}:6445`,
        '--token=none',
        '--kubeconfig=',
      ];

      const result = await cluster.kubectl([...args, 'get', '--raw', '/apis/once.test.ichor.dev/v1/pings']);

      expect(result.code).toBe(1);
      const stats = await workloads.aggregated('once');
      expect(stats.refused).toBeGreaterThan(before);
      expect(stats.lastRefusal).toBe('no front-proxy client certificate');
    });

    it('a disruption budget lets one of two replicas go at a time', async () => {
      const pdb = ['-n', workloads.namespace, 'get', 'pdb', 'web', '-o', 'jsonpath={.status.disruptionsAllowed}'];

      await waitFor('both replicas', 120_000, async () => (await cluster.kubectl(pdb)).stdout === '1');
      const pods = [
        '-n',
        workloads.namespace,
        'get',
        'pods',
        '-l',
        'app=web',
        '-o',
        'jsonpath={.items[*].spec.nodeName}',
      ];
      const machines = succeeded('pods', await cluster.kubectl(pods)).split(' ');
      expect(new Set(machines).size).toBe(2);
    });
  });
}
