import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import type { FaultPlan } from './faults.ts';
import type { SimMachine } from './machine.ts';
import { prints } from './material.ts';
import { beginReboot } from './transitions.ts';
import type { World } from './world.ts';

/**
 * A person reads why a rotation is blocked and does what its advice says, where
 * only hands help: reboots the machine that the message names. Gives what was
 * done; undefined where the rotation has to get on without anybody.
 */
export function lendAHand(
  { world, faults }: { readonly world: World; readonly faults: FaultPlan },
  operation: TalosOperation | undefined,
): string | undefined {
  const { reason, message = '' } = operation?.status ?? {};
  const machine = world.machines().find(({ name }) => message.includes(name));
  if (machine === undefined || !machine.isUp || machine.isRebooting) return undefined;
  const isMeant =
    reason === 'RebootOverdue'
      ? wasNeverHeard(faults, machine)
      : startedTooEarly(world, machine) || askedTooEarly(world, machine);
  if (!isMeant) return undefined;
  const what = `a person reboots ${machine.name}, because of ${reason}`;
  world.trace(what);
  beginReboot(world, machine);
  return what;
}

/** Asked twice at least, and no request arrived: the twenty minutes are over, and no program asks for more. */
function wasNeverHeard({ log }: FaultPlan, { name }: SimMachine): boolean {
  const begun = log.reboots.findLastIndex((each) => each.machine === name && each.begunAt !== undefined);
  return log.reboots.slice(begun + 1).filter(({ machine }) => machine === name).length > 1;
}

/** Its etcd read its trust before the machine was told: one that came back two stages behind is not let in by telling it. */
function startedTooEarly(world: World, machine: SimMachine): boolean {
  const { plane, taken } = machine;
  return (
    plane !== undefined &&
    !world.etcd.isHealthy(machine) &&
    plane.etcd.pool.join() !== prints(taken.etcd?.bundle ?? []).join()
  );
}

/**
 * A worker asked the trustd of a control plane that was yet to be told, and has its
 * list; by now everybody is told, and nothing makes the worker ask again for hours.
 */
function askedTooEarly(world: World, { role, api }: SimMachine): boolean {
  const lists = new Set(world.planes().map(({ taken }) => keyOf(taken.talos.accepted)));
  return role === 'worker' && lists.size === 1 && !lists.has(keyOf(api.accepted));
}

function keyOf(certificates: Parameters<typeof prints>[0]): string {
  return [...prints(certificates)].sort().join();
}
