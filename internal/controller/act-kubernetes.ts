import {
  deleteAggregatorAuth,
  exhaustedBudget,
  readWorkload,
  restartWorkload,
  whyNotRestartable,
} from '../../pkg/kube/index.ts';
import type { Actor } from './act.ts';
import { EffectRefusedError } from './effect-error.ts';
import { parseOwner, viaAny } from './observe-kubernetes.ts';

/** Deletes extension-apiserver-authentication by name, with the UID that was read: one that was written meanwhile stays. */
export async function resetAuthentication(actor: Actor, uid: string): Promise<void> {
  await viaPlanes(actor, (client) => deleteAggregatorAuth(client, uid));
}

/** Starts one rollout, if its PodDisruptionBudgets allow a disruption now. */
export async function restartOwner(actor: Actor, owner: string): Promise<void> {
  const workload = parseOwner(owner);
  // Once for all API servers that may have to be asked: the same time twice starts one rollout. By the clock that
  // publication was noted with: whether it came after that is asked when it is over.
  const at = actor.time.now(actor.observed.observation.operation);
  await viaPlanes(actor, async (client) => {
    const object = await readWorkload(client, workload);
    const why = whyNotRestartable(object);
    if (why !== undefined) throw new EffectRefusedError(`${owner}: ${why}`);
    const budget = await exhaustedBudget(client, workload.namespace, object);
    if (budget !== undefined)
      throw new EffectRefusedError(`${owner} is held by PodDisruptionBudget ${budget.name}: ${budget.message}`);
    await restartWorkload(client, workload, at);
  });
}

async function viaPlanes<T>(actor: Actor, work: Parameters<typeof viaAny<T>>[1]): Promise<T> {
  const ask = actor.observed.machines.filter((each) => each.role === 'controlplane');
  const reading = await viaAny({ session: actor.session, ask }, work);
  if (!reading.known) throw new EffectRefusedError(reading.message);
  return reading.value;
}
