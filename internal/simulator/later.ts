import type { SimMachine } from './machine.ts';
import { draw, type Span } from './timing.ts';
import type { World } from './world.ts';

/** Something that happens later to a machine, if it is still in the same boot by then. */
export function later(world: World, machine: SimMachine, span: Span, act: () => void): void {
  const { boot } = machine;
  world.clock.schedule(draw(world.random(`${machine.name}/${boot}/${world.clock.monotonic()}`), span), () => {
    if (machine.boot === boot && world.find(machine.name) === machine) act();
  });
}
