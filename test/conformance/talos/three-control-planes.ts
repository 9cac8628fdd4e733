import { afterAll, beforeAll, describe } from 'vitest';
import type { TalosCluster } from '../../talos/cluster.ts';
import { aggregatorMapConformance } from './aggregator-map.ts';
import { workerConformance } from './calls.ts';
import { etcdCaConformance } from './etcd-ca.ts';
import { realTarget } from './real-target.ts';
import { openSubject } from './subject.ts';
import { workerPkiConformance } from './worker-pki.ts';

/**
 * What takes several control planes or a worker to see, on real machines. Leaves
 * the cluster on CAs that the files in its directory do not name: nothing can use it afterwards.
 */
export function threeControlPlanesConformance(given: () => TalosCluster): void {
  describe('real Talos, three control planes and a worker', () => {
    let subject: ReturnType<typeof openSubject>;

    beforeAll(async () => {
      const cluster = given();
      await cluster.healthy();
      subject = openSubject(await realTarget(cluster));
    });

    afterAll(() => subject?.close());

    workerConformance(() => subject);
    etcdCaConformance(() => subject);
    aggregatorMapConformance(() => subject);
    workerPkiConformance(() => subject);
  });
}
