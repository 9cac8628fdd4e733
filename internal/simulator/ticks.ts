import type { SimMachine } from './machine.ts';
import type { World } from './world.ts';

/** Kubelets renew their Leases every 10 s; this and the others at the pace of the world. */
const LEASE_TICK_MS = 10_000;
const CONTROL_TICK_MS = 2_000;
const PUBLISH_TICK_MS = 60_000;

/** Starts what goes on in a cluster for ever. */
export function startTicks(world: World): void {
  const { pace } = world.timing;
  every(world, CONTROL_TICK_MS * pace, () => {
    world.etcd.update();
    world.kubernetes.control(world);
  });
  every(world, (LEASE_TICK_MS * pace) / 5, beats(world));
  every(world, (PUBLISH_TICK_MS * pace) / 4, publishes(world));
}

function every(world: World, ms: number, act: () => void): void {
  world.clock.schedule(ms, () => {
    act();
    every(world, ms, act);
  });
}

/** Each kubelet at its own moment of the ten seconds. */
function beats(world: World): () => void {
  let turn = 0;
  return () => {
    turn = (turn + 1) % 5;
    world.machines().forEach((machine, index) => {
      if (index % 5 === turn) world.kubernetes.heartbeat(world, machine);
    });
  };
}

/** Each API server adds its CAs once a minute, and soon after its start. */
function publishes(world: World): () => void {
  const published = new Map<string, number>();
  let turn = 0;
  return () => {
    turn = (turn + 1) % 4;
    const due = (machine: SimMachine, index: number): boolean =>
      index % 4 === turn || published.get(machine.name) !== machine.plane?.apiServer.instance;
    const servers = world.planes().filter(due);
    for (const machine of servers) published.set(machine.name, machine.plane?.apiServer.instance ?? 0);
    world.kubernetes.publish(world, servers);
  };
}
