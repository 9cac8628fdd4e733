import { afterAll, beforeAll } from 'vitest';
import { threeControlPlanesConformance } from '../conformance/talos/three-control-planes.ts';
import type { Lock } from '../support/lock.ts';
import { describeReal } from '../support/real.ts';
import { type TalosCluster, talosCluster } from '../talos/cluster.ts';
import { rigClusterSuite } from '../talos/cluster-suite.ts';
import { RIG_TOOLS } from '../talos/parts.ts';
import { lockThreeControlPlanes } from '../talos/teardown.ts';
import { workloadsSuite } from '../talos/workloads-suite.ts';
import { rotateAllSuite } from './rotate-all.ts';

// Every suite that needs three control planes and a worker, on one cluster: bringing it up takes longer than
// some of them. Each begins by asking whether the one before left the cluster healthy.
describeReal('one cluster of three control planes and a worker', { tools: RIG_TOOLS, root: true, linux: true }, () => {
  let cluster: TalosCluster;
  let turn: Lock;

  beforeAll(async () => {
    turn = await lockThreeControlPlanes('running the suites of three control planes and a worker');
    cluster = await talosCluster({ controlPlanes: 3, workers: 1, name: 'typed31' });
  });

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    turn?.release();
  });

  rigClusterSuite(() => cluster);
  workloadsSuite(() => cluster);
  rotateAllSuite(() => cluster);
  // Last: it leaves the cluster on CAs that nobody has credentials of.
  threeControlPlanesConformance(() => cluster);
});
