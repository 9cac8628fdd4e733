import { editConfiguration, setCutOff, startEtcd, stopEtcd } from './disturbances.ts';
import type { SimMachine } from './machine.ts';
import type { SimStore } from './store.ts';
import { beginReboot, powerOff, powerOn } from './transitions.ts';
import type { World } from './world.ts';

/** Something that somebody else does to the cluster or the operation, `at` virtual milliseconds. */
export type Happening = { readonly at: number } & (
  | { readonly what: 'reboot'; readonly machine: string }
  | { readonly what: 'power-loss'; readonly machine: string; readonly forMs: number }
  | { readonly what: 'cut-off'; readonly machine: string; readonly forMs: number }
  /** etcd of one control plane crashes and stays away, everything else on it runs. */
  | { readonly what: 'etcd-stop'; readonly machine: string; readonly forMs: number }
  /** Somebody adds a comment, or takes it away again. */
  | { readonly what: 'edit'; readonly machine: string }
  /** Every connection of etcd breaks once. */
  | { readonly what: 'cut-etcd' }
  | { readonly what: 'leader' }
  | { readonly what: 'clock'; readonly byMs: number }
  | { readonly what: 'alarm'; readonly forMs: number }
  | { readonly what: 'pause'; readonly forMs: number }
  /** A worker joins with the configuration that a worker has now. */
  | { readonly what: 'join'; readonly name: string }
  | { readonly what: 'leave'; readonly machine: string }
  | { readonly what: 'delete' }
  /** Somebody removes the record, cuts it short or puts another operation's in its place; for so long. */
  | { readonly what: 'damage'; readonly to: 'gone' | 'cut' | 'foreign'; readonly forMs: number }
);

/** Plans them. */
export function schedule(world: World, store: SimStore, operation: string, happenings: readonly Happening[]): void {
  for (const happening of happenings) {
    world.clock.schedule(happening.at, () => {
      world.trace(`happens: ${JSON.stringify(happening)}`);
      happen(world, store, operation, happening);
    });
  }
}

function happen(world: World, store: SimStore, operation: string, happening: Happening): void {
  const machine = 'machine' in happening ? world.find(happening.machine) : undefined;
  switch (happening.what) {
    case 'reboot':
      if (machine?.isUp === true) beginReboot(world, machine);
      return;
    case 'power-loss':
      if (machine?.isUp === true) powerOff(world, machine, [happening.forMs, happening.forMs]);
      return;
    case 'cut-off':
      if (machine !== undefined) cutOff(world, machine, happening.forMs);
      return;
    case 'etcd-stop':
      if (machine !== undefined) crashEtcd(world, machine, happening.forMs);
      return;
    case 'edit':
      if (machine?.isUp === true) editConfiguration(world, machine);
      return;
    case 'cut-etcd':
      world.etcd.cut();
      return;
    case 'leader': {
      const leader = world.find(world.etcd.leader ?? '');
      if (leader !== undefined) world.etcd.forfeit(leader);
      return;
    }
    case 'clock':
      world.clock.jump(happening.byMs);
      return;
    case 'alarm':
      world.etcd.alarms = ['NOSPACE'];
      world.clock.schedule(happening.forMs, () => {
        world.etcd.alarms = [];
      });
      return;
    case 'pause':
      setPaused(store, operation, true);
      world.clock.schedule(happening.forMs, () => setPaused(store, operation, false));
      return;
    case 'join': {
      const model = world.machines().find((each) => each.role === 'worker');
      if (model !== undefined) join(world, model, happening.name);
      return;
    }
    case 'leave':
      if (machine?.role === 'worker') world.remove(machine.name);
      return;
    case 'damage':
      damage(world, store, happening);
      return;
    case 'delete':
      store.edit(operation, (current) => ({
        ...current,
        metadata: { ...current.metadata, deletionTimestamp: new Date(world.clock.now()).toISOString() },
      }));
  }
}

function cutOff(world: World, machine: SimMachine, forMs: number): void {
  setCutOff(world, machine, true);
  world.clock.schedule(forMs, () => setCutOff(world, machine, false));
}

function crashEtcd(world: World, machine: SimMachine, forMs: number): void {
  const { boot, name, plane } = machine;
  if (plane === undefined || !plane.etcd.isRunning) return;
  stopEtcd(world, machine);
  world.clock.schedule(forMs, () => {
    // A boot in between has started it already.
    if (world.find(name)?.boot === boot) startEtcd(world, machine);
  });
}

function join(world: World, model: SimMachine, name: string): void {
  const machine = world.add({ name, role: 'worker', config: model.persistent });
  powerOff(world, machine, undefined);
  powerOn(world, machine);
}

function setPaused(store: SimStore, operation: string, paused: boolean): void {
  store.edit(operation, (current) => ({ ...current, spec: { ...current.spec, paused } }));
}

function damage(world: World, store: SimStore, { to, forMs }: Extract<Happening, { what: 'damage' }>): void {
  const { record } = store;
  if (record === undefined) return;
  store.isDamaged = true;
  if (to === 'gone') store.record = undefined;
  else if (to === 'cut') store.record = record.slice(0, record.length / 2);
  else store.record = record.replace(/uid-[a-z0-9-]+/, 'uid-of-another');
  world.clock.schedule(forMs, () => {
    // What was put in its place meanwhile is not touched.
    if (to !== 'gone' || store.record === undefined) store.record = record;
    store.isDamaged = false;
  });
}
