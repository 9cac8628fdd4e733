import { rotationAbandonable, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import { DEFAULT_SETTINGS } from '../../rotation/context.ts';
import { createSilentLogger } from '../../telemetry/index.ts';
import { CliError } from '../cli-error.ts';
import { createClusterView } from '../cluster-view.ts';
import { flag, type Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { settleLeftovers } from '../handoff/finish.ts';
import { holderOf, lockCluster, openCluster } from '../open-cluster.ts';
import { findOperation, isUnderWay, targetsAskedFor } from '../operations.ts';
import { runRotation } from '../rotate/run.ts';
import { checkRecipients } from '../rotate/sealing.ts';

/** `ichor operation delete`: refuses what cannot be gone back from, abandons the rest. */
export async function deleteOperation(invocation: Invocation): Promise<ExitName> {
  const { output, environment } = invocation;
  await using cluster = await openCluster(invocation, { bundle: true });
  const { store } = cluster;
  await checkRecipients(invocation.options, store);
  const operation = await findOperation(store, invocation.argument);
  const { name } = operation.metadata;
  const underWay = isUnderWay(operation);
  if (underWay) refuseIfBound(operation);
  const what = underWay
    ? `abandon the rotation ${name} (stage ${operation.status.stage})`
    : `remove the finished operation ${name}`;
  if (!(await isConfirmed(invocation, what))) return 'declined';
  const marked = await store.deleteOperation(name);
  const isGone = marked === undefined || marked.metadata.finalizers.length === 0;
  if (isGone) {
    await output.result({ operation: name, deleted: true }, `${name} was removed`);
    return 'ok';
  }
  const holder = await holderOf(store);
  if (holder !== undefined && !flag(invocation.options, 'takeOver')) {
    const text = `${name} is marked for deletion; process ${holder.pid} on ${holder.host}, which runs it, abandons it`;
    await output.result({ operation: name, deleted: false, abandonedBy: holder }, text);
    return 'ok';
  }
  await lockCluster(store, invocation, `abandoning ${name}`);
  using view = createClusterView({ store, connections: await environment.connections(), clock: environment.clock });
  const log = createSilentLogger();
  const { end, operation: last } = await runRotation(
    { environment, output, store, view, log, follow: true, yes: false, settings: DEFAULT_SETTINGS },
    name,
  );
  if (end === 'detached') return 'detached';
  if ((await store.readOperation(name)) !== undefined) {
    // It went past its point of no return between our look and the mark: it was held, and is complete now.
    throw new CliError(
      'refused',
      `${name} could not be abandoned any more; it stands in ${last?.status.stage ?? 'an unknown stage'}`,
    );
  }
  if ((await store.readState()).record !== undefined) {
    await output.result(
      { operation: name, deleted: true, recordKept: true },
      `${name} was removed, and nothing else: rotation.yaml holds the new certificate authorities of an operation before it, which machines may run with. ichor cluster rotate-ca goes on with them`,
    );
    return 'ok';
  }
  const settled = await settleLeftovers(store, environment.clock.now());
  if (settled !== undefined) output.say(settled);
  await output.result(
    { operation: name, deleted: true },
    `${name} was abandoned; the old certificate authorities stay`,
  );
  return 'ok';
}

function refuseIfBound(operation: TalosOperation): void {
  const { metadata, status } = operation;
  const { abandonable, why } = rotationAbandonable(status.stage, targetsAskedFor(operation));
  if (abandonable || status.stage === 'Done') return;
  throw new CliError(
    'refused',
    `${metadata.name} is in stage ${status.stage}, past its point of no return: ${why}`,
    'It can only go on: ichor cluster rotate-ca. It can be removed once it is done.',
  );
}

async function isConfirmed({ options, environment, output }: Invocation, what: string): Promise<boolean> {
  if (flag(options, 'yes')) return true;
  if (environment.ask === undefined) {
    throw new CliError(
      'declined',
      `nobody is there to confirm: ${what}`,
      'Give --yes to do it without a question. Nothing was changed.',
    );
  }
  if (await environment.ask.confirm(`${what}?`)) return true;
  output.say('nothing was changed');
  return false;
}
