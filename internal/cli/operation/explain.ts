import type { TalosOperation } from '../../../api/v1alpha1/index.ts';
import { decide } from '../../rotation/decide.ts';
import type { Decision } from '../../rotation/decision.ts';
import { type Explanation, explain } from '../../rotation/explain.ts';
import type { LockOwner } from '../../store/index.ts';
import { createClusterView } from '../cluster-view.ts';
import { flag, type Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { holderOf, type OpenCluster, openCluster } from '../open-cluster.ts';
import { findOperation, isUnderWay } from '../operations.ts';
import { textTable } from '../text-table.ts';
import { factsOf } from './get.ts';

/** How many changes are shown; `-o json` has all that are kept. */
const SHOWN_CHANGES = 15;

/** Where the explanation comes from: a look just now, or what the last look has stored, and then why. */
interface Source {
  readonly looked: 'now' | 'stored';
  /** Why the cluster could not be looked at; absent where it was, or need not be. */
  readonly problem?: string;
}

/** `ichor operation explain`: what the engine would decide now, as `explain` of the engine words it; nothing is done. */
export async function explainOperation(invocation: Invocation): Promise<ExitName> {
  const isStored = flag(invocation.options, 'stored');
  await using cluster = await openCluster(invocation, { bundle: !isStored });
  const operation = await findOperation(cluster.store, invocation.argument);
  const holder = (await holderOf(cluster.store)) ?? null;
  const { decision, source } =
    isStored || !isUnderWay(operation)
      ? { decision: undefined, source: { looked: 'stored' } as const }
      : await lookNow(invocation, cluster, operation);
  const explanation = explain(operation, decision);
  const { uid } = operation.metadata;
  const { phase, conditions } = operation.status;
  const value = { ...explanation, uid, phase, conditions, runner: holder, ...source };
  const text = [
    ...factsOf(operation),
    ...whyText(explanation, source),
    runnerText(holder, operation),
    '',
    ...historyText(explanation),
  ];
  await invocation.output.result(value, text.join('\n'));
  return 'ok';
}

/** One look, or why there could be none: what is stored is worth showing anyway. */
async function lookNow(
  { environment }: Invocation,
  { store }: OpenCluster,
  operation: TalosOperation,
): Promise<{ readonly decision: Decision | undefined; readonly source: Source }> {
  using view = createClusterView({ store, connections: await environment.connections(), clock: environment.clock });
  try {
    return { decision: decide(await view.observe(operation)), source: { looked: 'now' } };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { decision: undefined, source: { looked: 'stored', problem } };
  }
}

function whyText(explanation: Explanation, source: Source): string[] {
  const { state, needsSomebody, since, reason, message, advice, effect, next } = explanation;
  return [
    `state       ${state}${needsSomebody ? ', until somebody does something' : ''}${since === undefined ? '' : `, since ${since}`}`,
    `reason      ${reason}`,
    `message     ${message}`,
    `what to do  ${advice}`,
    ...(effect === undefined ? [] : [`next step   ${effect}`]),
    ...next.map(({ stage, summary }) => `after it    ${stage}: ${summary}`),
    `looked at   ${source.looked === 'now' ? 'just now' : 'as it was stored last'}${source.problem === undefined ? '' : `; the cluster could not be looked at: ${source.problem}`}`,
  ];
}

function runnerText(holder: LockOwner | null, operation: TalosOperation): string {
  // What is over does not go on: the same command would begin another rotation.
  const next = isUnderWay(operation) && !operation.spec.paused ? '; ichor cluster rotate-ca goes on' : '';
  return holder === null
    ? `runner      no process works on this cluster${next}`
    : `runner      process ${holder.pid} on ${holder.host} works on this cluster since ${holder.since} (${holder.purpose})`;
}

function historyText({ history }: Explanation): string[] {
  if (history.length === 0) return ['no changes yet'];
  const shown = history.slice(-SHOWN_CHANGES);
  const rows = shown.map(({ time, stage, reason, message }) => [time, stage, reason, message]);
  return [
    `last ${shown.length} ${shown.length === 1 ? 'change' : 'changes'}:`,
    textTable([['TIME', 'STAGE', 'REASON', 'MESSAGE'], ...rows]),
  ];
}
