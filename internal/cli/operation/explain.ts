import { adviceFor, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import type { Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { openCluster } from '../open-cluster.ts';
import { findOperation } from '../operations.ts';
import { textTable } from '../text-table.ts';
import { summaryOf } from './get.ts';

/** How many changes are shown; `-o json` has all that are kept. */
const SHOWN_CHANGES = 15;

/** `ichor operation explain` */
export async function explainOperation(invocation: Invocation): Promise<ExitName> {
  await using cluster = await openCluster(invocation, { bundle: false });
  const operation = await findOperation(cluster.store, invocation.argument);
  const holder = await cluster.store.lockOwner();
  const { status, metadata } = operation;
  const runner =
    holder === undefined
      ? 'no process works on this cluster; ichor cluster rotate-ca goes on'
      : `process ${holder.pid} on ${holder.host} works on this cluster since ${holder.since} (${holder.purpose})`;
  const advice = adviceFor(status.reason);
  await invocation.output.result(
    {
      operation: metadata.name,
      uid: metadata.uid,
      phase: status.phase,
      stage: status.stage,
      reason: status.reason,
      message: status.message,
      advice,
      runner: holder ?? null,
      conditions: status.conditions,
      history: status.history,
    },
    [...summaryOf(operation), `what to do  ${advice}`, `runner      ${runner}`, '', ...historyOf(operation)].join('\n'),
  );
  return 'ok';
}

function historyOf({ status }: TalosOperation): string[] {
  if (status.history.length === 0) return ['no changes yet'];
  const shown = status.history.slice(-SHOWN_CHANGES);
  const rows = shown.map(({ time, stage, reason, message }) => [time, stage, reason, message]);
  return [`last ${shown.length} changes:`, textTable([['TIME', 'STAGE', 'REASON', 'MESSAGE'], ...rows])];
}
