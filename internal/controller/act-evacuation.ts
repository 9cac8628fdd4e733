import type { EvacuationStatus } from '../../api/v1alpha1/index.ts';
import type { Actor } from './act.ts';
import { EffectRefusedError } from './effect-error.ts';
import type { ListedMachine } from './machines.ts';

/** What the evacuation hook answered, as the status keeps it. */
export type HookAnswer = NonNullable<EvacuationStatus['answer']>;

/** Asks the evacuation hook once. Whatever it answers is an answer: what follows from it is decided at the next look. */
export async function askHook(
  actor: Actor,
  { name, address, node }: ListedMachine,
  call: EvacuationStatus['call'],
): Promise<HookAnswer> {
  const { operation } = actor.observed.observation;
  const program = operation.spec.evacuationHook;
  const hook = actor.ports.evacuation;
  if (program === undefined || hook === undefined)
    throw new EffectRefusedError('there is no evacuation hook that could be asked here');
  const { outcome, found } = await hook.ask({
    ...{ program, call, address },
    machine: name,
    node: node?.name ?? name,
    operation: operation.metadata.name,
  });
  // Later than this process began, by however little: that tells it from what another one heard in that moment.
  const at = Math.max(actor.time.now(operation), actor.time.since(operation) + 1);
  return { outcome, found, at: new Date(at).toISOString() };
}
