import { readFile } from 'node:fs/promises';
import { openBundle } from '../../../pkg/bundle/index.ts';
import { readTalosconfigFile, selectContext } from '../../../pkg/talos/index.ts';
import type { TalosCluster } from '../../talos/cluster.ts';
import type { TalosTarget } from './target.ts';

/** A running cluster of real machines, as the suite sees it. */
export async function realTarget(
  cluster: Pick<TalosCluster, 'machines' | 'secretsFile' | 'talosconfigFile'>,
): Promise<TalosTarget> {
  const { bundle } = await openBundle(await readFile(cluster.secretsFile), { path: cluster.secretsFile });
  const { credentials } = selectContext(await readTalosconfigFile(cluster.talosconfigFile), cluster.talosconfigFile);
  return {
    machines: cluster.machines.map(({ name, address, role }) => ({ name, address, role })),
    bundle,
    credentials,
  };
}
