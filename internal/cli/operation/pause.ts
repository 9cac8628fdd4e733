import { CliError } from '../cli-error.ts';
import type { Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { holderOf, openCluster } from '../open-cluster.ts';
import { changeSpec, findOperation, isUnderWay, nextOf } from '../operations.ts';
import { checkHook } from '../rotate/evacuation-hook.ts';
import { evacuationHookOf, unreachableOf } from '../rotate/request.ts';

/** `ichor operation pause` and `ichor operation continue`: both may be said twice. */
export async function setPaused(invocation: Invocation, paused: boolean): Promise<ExitName> {
  const { options, environment } = invocation;
  const hook = evacuationHookOf(options, environment.workingDirectory);
  if (hook.evacuationHook !== undefined) await checkHook(hook.evacuationHook);
  await using cluster = await openCluster(invocation, { bundle: false });
  const found = await findOperation(cluster.store, invocation.argument);
  const { name } = found.metadata;
  if (!isUnderWay(found)) {
    throw new CliError(
      'refused',
      `the operation ${name} is over (${found.status.phase}); there is nothing to ${paused ? 'pause' : 'continue'}`,
    );
  }
  const changed = await changeSpec(cluster.store, name, { paused, ...unreachableOf(options), ...hook });
  const next = nextOf(changed, await holderOf(cluster.store));
  const text = paused
    ? `${name} is paused in stage ${changed.status.stage}; let it go on with ichor operation continue ${name}`
    : `${name} may go on; ${next}`;
  await invocation.output.result(changed, text);
  return 'ok';
}
