import type { TalosOperation } from '../../../api/v1alpha1/index.ts';
import type { Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { openCluster } from '../open-cluster.ts';
import { targetsAskedFor } from '../operations.ts';
import { textTable } from '../text-table.ts';

/** `ichor operation list` */
export async function listOperations(invocation: Invocation): Promise<ExitName> {
  await using cluster = await openCluster(invocation, { bundle: false });
  const operations = await cluster.store.listOperations();
  const rows = operations.map(({ metadata, spec, status }) => [
    metadata.name,
    phaseOf({ metadata, spec, status }),
    status.stage,
    status.reason,
    targetsAskedFor({ spec, status }).join(','),
    metadata.creationTimestamp,
  ]);
  const text =
    rows.length === 0
      ? `no operations in ${cluster.directory}`
      : textTable([['NAME', 'PHASE', 'STAGE', 'REASON', 'TARGETS', 'CREATED'], ...rows]);
  await invocation.output.result({ items: operations }, text);
  return 'ok';
}

/** What people are told: that it is being deleted or that somebody paused it, though its process has not seen it yet. */
function phaseOf({ metadata, spec, status }: Pick<TalosOperation, 'metadata' | 'spec' | 'status'>): string {
  if (metadata.deletionTimestamp !== undefined) return 'Deleting';
  return spec.paused ? 'Paused' : status.phase;
}
