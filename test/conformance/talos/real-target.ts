import { readFile } from 'node:fs/promises';
import { openBundle } from '../../../pkg/bundle/index.ts';
import { readTalosconfigFile, selectContext } from '../../../pkg/talos/index.ts';
import type { TalosTarget, TargetMachine } from './target.ts';

/** A cluster that runs, and where its material is. */
export interface RunningCluster {
  readonly machines: readonly TargetMachine[];
  readonly secretsFile: string;
  readonly talosconfigFile: string;
}

/** A running cluster, as the suite sees it. */
export async function realTarget(cluster: RunningCluster): Promise<TalosTarget> {
  const { bundle } = await openBundle(await readFile(cluster.secretsFile), { path: cluster.secretsFile });
  const { credentials } = selectContext(await readTalosconfigFile(cluster.talosconfigFile), cluster.talosconfigFile);
  return {
    machines: cluster.machines.map(({ name, address, role }) => ({ name, address, role })),
    bundle,
    credentials,
  };
}
