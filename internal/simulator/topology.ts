import type { SimMachine } from './machine.ts';
import { leaveEtcd, loseMember } from './membership.ts';
import { powerOff, powerOn } from './transitions.ts';
import type { World } from './world.ts';

/** Machines that come and go: what people do to the list of them, and what the cluster makes of it. */

/** How a machine leaves: `reset` in order, as `talosctl reset` does it; `lost` without a word. */
export type Departure = 'reset' | 'lost';

/** A machine joins under a name that is new, with the configuration that another one of its role has now. */
export function join(world: World, role: SimMachine['role'], name: string): void {
  const model = world.machines().find((each) => each.role === role && each.isUp);
  if (model !== undefined) switchOn(world, world.add({ name, role, config: model.persistent }));
}

/**
 * A machine goes for good. One that is reset leaves etcd first; of one that is lost
 * the member stays, and holds up everybody else's reconfiguration, until a person
 * removes it. Either way its Node stays until that person deletes it, `tidyMs`
 * after the machine is gone. Where etcd would be lost with it, it stays.
 */
export function leave(world: World, machine: SimMachine, how: Departure, tidyMs: number): void {
  const remove = (): void => {
    world.trace(`${machine.name} is deleted`);
    world.remove(machine.name);
  };
  if (how === 'reset' && machine.role === 'controlplane') {
    leaveEtcd(world, machine, () => {
      powerOff(world, machine, undefined);
      world.clock.schedule(tidyMs, remove);
    });
    return;
  }
  const removeMember = lose(world, machine);
  if (removeMember !== undefined) world.clock.schedule(tidyMs, () => removeMember(remove));
}

/**
 * A machine is lost, and `emptyMs` later another one with an empty disk boots under
 * its name and address, with the configuration of the one before: as that was at
 * the beginning, or as it was at last. Its kubelet finds the Node of before and
 * takes it over.
 */
export function replace(
  world: World,
  machine: SimMachine,
  { with: which, emptyMs }: { readonly with: 'born' | 'last'; readonly emptyMs: number },
): void {
  if (lose(world, machine) === undefined) return;
  world.clock.schedule(emptyMs, () => {
    if (world.find(machine.name) !== machine) return;
    const { name, role, address, node } = machine;
    world.remove(name);
    const config = which === 'born' ? machine.born : machine.persistent;
    const next = world.add({ name, role, address, config });
    next.node = node;
    switchOn(world, next);
  });
}

/** A machine and its disk are gone, without a word. Undefined where etcd would be lost with them: nothing survives that, and it is not done. */
function lose(world: World, machine: SimMachine): ReturnType<typeof loseMember> | undefined {
  if (machine.role === 'controlplane' && !world.etcd.canLose(machine)) {
    world.trace(`${machine.name} stays: etcd would be lost with it`);
    return undefined;
  }
  // Whatever was about to bring it back is off with its boot.
  powerOff(world, machine, undefined);
  return loseMember(world, machine);
}

function switchOn(world: World, machine: SimMachine): void {
  powerOff(world, machine, undefined);
  powerOn(world, machine);
}
