import { isDeepStrictEqual } from 'node:util';
import type { OperationSpec, TalosOperation } from '../../../api/v1alpha1/index.ts';
import { type EmbeddedStore, StaleOperationError } from '../../store/index.ts';
import { CliError } from '../cli-error.ts';
import type { Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { holderOf, openCluster } from '../open-cluster.ts';
import { findOperation, isUnderWay, nextOf } from '../operations.ts';
import { unreachableOf } from '../rotate/request.ts';

/** `ichor operation pause` and `ichor operation continue`: both may be said twice. */
export async function setPaused(invocation: Invocation, paused: boolean): Promise<ExitName> {
  await using cluster = await openCluster(invocation, { bundle: false });
  const found = await findOperation(cluster.store, invocation.argument);
  const { name } = found.metadata;
  if (!isUnderWay(found)) {
    throw new CliError(
      'refused',
      `the operation ${name} is over (${found.status.phase}); there is nothing to ${paused ? 'pause' : 'continue'}`,
    );
  }
  const changed = await write(cluster.store, name, { paused, ...unreachableOf(invocation.options) });
  const next = nextOf(changed, await holderOf(cluster.store));
  const text = paused
    ? `${name} is paused in stage ${changed.status.stage}; let it go on with ichor operation continue ${name}`
    : `${name} may go on; ${next}`;
  await invocation.output.result(changed, text);
  return 'ok';
}

type Change = Pick<OperationSpec, 'paused' | 'unreachableEndpoints'>;

async function write(store: EmbeddedStore, name: string, change: Change): Promise<TalosOperation> {
  for (;;) {
    const operation = await findOperation(store, name);
    const spec = { ...operation.spec, ...change };
    if (isDeepStrictEqual(spec, operation.spec)) return operation;
    try {
      return await store.updateOperation(operation, { spec: change });
    } catch (error) {
      // The engine wrote in between.
      if (!(error instanceof StaleOperationError)) throw error;
    }
  }
}
