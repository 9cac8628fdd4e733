import { adviceFor, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import { decide } from '../../rotation/decide.ts';
import { type Explanation, explain } from '../../rotation/explain.ts';
import { createClusterView } from '../cluster-view.ts';
import { flag, type Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { holderOf, type OpenCluster, openCluster } from '../open-cluster.ts';
import { findOperation, isUnderWay } from '../operations.ts';
import { textTable } from '../text-table.ts';
import { summaryOf } from './get.ts';

/** How many changes are shown; `-o json` has all that are kept. */
const SHOWN_CHANGES = 15;

/** `ichor operation explain`: what is stored, and what one look at the cluster says beyond it. */
export async function explainOperation(invocation: Invocation): Promise<ExitName> {
  const isStored = flag(invocation.options, 'stored');
  await using cluster = await openCluster(invocation, { bundle: !isStored });
  const operation = await findOperation(cluster.store, invocation.argument);
  const { status, metadata } = operation;
  const holder = await holderOf(cluster.store);
  const now = isStored || !isUnderWay(operation) ? undefined : await lookNow(invocation, cluster, operation);
  const advice = adviceFor(status.reason);
  const value = {
    operation: metadata.name,
    uid: metadata.uid,
    phase: status.phase,
    stage: status.stage,
    reason: status.reason,
    message: status.message,
    advice,
    runner: holder ?? null,
    now: now ?? null,
    conditions: status.conditions,
    history: status.history,
  };
  const runner =
    holder === undefined
      ? 'no process works on this cluster; ichor cluster rotate-ca goes on'
      : `process ${holder.pid} on ${holder.host} works on this cluster since ${holder.since} (${holder.purpose})`;
  const text = [
    ...summaryOf(operation),
    `what to do  ${advice}`,
    `runner      ${runner}`,
    ...(now === undefined ? [] : ['', ...nowText(now)]),
    '',
    ...historyText(operation),
  ];
  await invocation.output.result(value, text.join('\n'));
  return 'ok';
}

/** One look, or why there could be none: what is stored is worth showing anyway. */
async function lookNow(
  { environment }: Invocation,
  { store }: OpenCluster,
  operation: TalosOperation,
): Promise<Explanation | string> {
  using view = createClusterView({ store, connections: await environment.connections(), clock: environment.clock });
  try {
    return explain(operation, decide(await view.observe(operation)));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function nowText(now: Explanation | string): string[] {
  if (typeof now === 'string') return [`the cluster could not be looked at: ${now}`];
  return [
    `looked at now: ${now.state}, ${now.reason}: ${now.message}`,
    ...(now.reason === 'AwaitingCredentials' || now.needsSomebody ? [`  ${now.advice}`] : []),
    ...(now.effect === undefined ? [] : [`  next step: ${now.effect}`]),
    ...now.next.map(({ stage, summary }) => `  after it: ${stage}, ${summary}`),
  ];
}

function historyText({ status }: TalosOperation): string[] {
  if (status.history.length === 0) return ['no changes yet'];
  const shown = status.history.slice(-SHOWN_CHANGES);
  const rows = shown.map(({ time, stage, reason, message }) => [time, stage, reason, message]);
  return [
    `last ${shown.length} ${shown.length === 1 ? 'change' : 'changes'}:`,
    textTable([['TIME', 'STAGE', 'REASON', 'MESSAGE'], ...rows]),
  ];
}
