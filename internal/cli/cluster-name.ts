import { CliError } from './cli-error.ts';
import type { ClusterView } from './cluster-view.ts';

/** What a cluster is called, and who says so. */
export interface ClusterName {
  readonly name: string;
  /** `its control planes`, or the one that was asked, or what stands for them where none is asked. */
  readonly by: string;
}

const ADVICE = 'Name the directory with --dir, and leave NAME out where it is the right one. Nothing was changed.';

/**
 * A NAME on the command line must be one that the cluster has: nobody works on another cluster than the one that was
 * meant, or writes its keys. Without a NAME nothing is compared. Errors: `refused`, with every name that was found.
 */
export function checkClusterName(
  asked: string | undefined,
  found: readonly ClusterName[],
  advice: string = ADVICE,
): void {
  if (asked === undefined || found.some(({ name }) => name === asked)) return;
  const names = found.map(({ name, by }) => `"${name}" according to ${by}`).join(' and ');
  throw new CliError('refused', `"${asked}" was asked for, and this cluster is ${names}`, advice);
}

/** As {@link checkClusterName}, with the name that the control planes say; they are asked only where it is needed. */
export async function checkLiveName(asked: string | undefined, view: Pick<ClusterView, 'clusterName'>): Promise<void> {
  if (asked === undefined) return;
  checkClusterName(asked, [{ name: await view.clusterName(), by: 'its control planes' }]);
}
