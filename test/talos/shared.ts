import { sayOnStderr } from '../support/clock-lines.ts';
import { ownerNow } from '../support/lock.ts';
import { type ClusterOptions, openCluster, type TalosCluster, talosCluster } from './cluster.ts';
import { cgroupVersion } from './host/cgroups.ts';
import { readRecord, recordedClusters } from './record.ts';
import { isWanted, lockCluster, removeCluster } from './teardown.ts';

/** The clusters that suites share, by contract, control planes and workers. */
export type SharedShape = 'typed-1-0' | 'typed-3-1' | 'legacy-1-0' | 'legacy-3-1';

const SHAPES: Readonly<Record<SharedShape, ClusterOptions & { name: string }>> = {
  'typed-1-0': { name: 'typed10', controlPlanes: 1, workers: 0 },
  'typed-3-1': { name: 'typed31', controlPlanes: 3, workers: 1 },
  'legacy-1-0': { name: 'legacy10', controlPlanes: 1, workers: 0, contract: 'v1.13' },
  'legacy-3-1': { name: 'legacy31', controlPlanes: 3, workers: 1, contract: 'v1.13' },
};

/**
 * The cluster of that shape which the suites of one test run share. The first
 * suite that asks for it makes it; it lives until the run ends. Each suite leaves
 * it as it found it: disposing undoes every fault and waits until the cluster is
 * healthy. One that cannot be mended, or that a suite gave up with
 * `discardSharedCluster`, is made anew for the next suite.
 */
export async function sharedCluster(shape: SharedShape): Promise<TalosCluster> {
  const { name, ...options } = SHAPES[shape];
  const cluster = (await reopen(name)) ?? (await talosCluster({ ...options, name, owner: testRun() }));
  return { ...cluster, [Symbol.asyncDispose]: () => cluster.mend() };
}

/** Takes a shared cluster down, for a suite that cannot leave it as it was. */
export async function discardSharedCluster(shape: SharedShape): Promise<void> {
  const { name } = SHAPES[shape];
  using _lock = lockCluster(name, `taking down the cluster ${name}`);
  await removeCluster(name, cgroupVersion());
}

/** Takes down every shared cluster: a suite with a cluster of its own has the processors to itself. */
export async function discardSharedClusters(): Promise<void> {
  for (const shape of Object.keys(SHAPES) as SharedShape[]) {
    if (readRecord(SHAPES[shape].name) !== undefined) await discardSharedCluster(shape);
  }
}

/** Takes down every cluster of this test run; called once, by the process that started the run. */
export async function removeClustersOfRun(): Promise<void> {
  for (const name of recordedClusters()) {
    if (readRecord(name)?.owner?.pid !== process.pid) continue;
    using _lock = lockCluster(name, 'ending the test run');
    await removeCluster(name, cgroupVersion());
  }
}

async function reopen(name: string): Promise<TalosCluster | undefined> {
  const record = readRecord(name);
  if (record === undefined || !isWanted(record)) return undefined;
  const cluster = openCluster(name);
  try {
    await cluster.healthy(60_000);
    return cluster;
  } catch (error) {
    sayOnStderr(`talos: the shared cluster ${name} is not healthy and is made anew: ${(error as Error).message}`);
    using _lock = lockCluster(name, `taking down the cluster ${name}`);
    await removeCluster(name, cgroupVersion());
    return undefined;
  }
}

/** The process that runs all test files; each file has a worker process of its own below it. */
function testRun() {
  return ownerNow('running the tests', process.env.VITEST_WORKER_ID === undefined ? process.pid : process.ppid);
}
