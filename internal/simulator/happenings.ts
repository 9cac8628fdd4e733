import type { CaTarget } from '../../api/v1alpha1/index.ts';
import { editConfiguration, setCutOff, startEtcd, stopEtcd } from './disturbances.ts';
import type { SimMachine } from './machine.ts';
import type { Mint } from './mint.ts';
import { happenToOperation } from './operation-happenings.ts';
import type { SimStore } from './store.ts';
import { type Departure, join, leave, replace } from './topology.ts';
import { beginReboot, powerOff } from './transitions.ts';
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
  /** A machine joins with the configuration that another one of its role has now; a worker unless said. */
  | { readonly what: 'join'; readonly name: string; readonly role?: SimMachine['role'] }
  /**
   * A machine goes for good: reset in order unless it is `lost`. Its Node, and a member of etcd that it left, stay for
   * so long, until a person tidies up.
   */
  | { readonly what: 'leave'; readonly machine: string; readonly how?: Departure; readonly forMs?: number }
  /** A machine is lost; so long after it an empty one boots in its place, with its first configuration or its last. */
  | { readonly what: 'replace'; readonly machine: string; readonly with: 'born' | 'last'; readonly forMs: number }
  | { readonly what: 'delete' }
  /** Somebody removes the operation by force, its record stays, and begins another one under the same name. */
  | { readonly what: 'begin-anew' }
  /** A member that does not vote yet. */
  | { readonly what: 'learner'; readonly forMs: number }
  /** STATE of a machine takes nothing: what is applied runs, and is not kept. */
  | { readonly what: 'state-full'; readonly machine: string; readonly forMs: number }
  /** A machine loses power and comes back with the disk that it had at the beginning. */
  | { readonly what: 'restore'; readonly machine: string }
  /** Somebody asks for other targets in mid-rotation. */
  | { readonly what: 'respec'; readonly targets: readonly CaTarget[] }
  /** Another operation of the same cluster is under way. */
  | { readonly what: 'other-operation' }
  /** Somebody acknowledges with the token of an earlier hand-off. */
  | { readonly what: 'acknowledge'; readonly token: string }
  /** Somebody removes the record, cuts it short, puts another operation's in its place, or another bundle beside it; for so long. */
  | { readonly what: 'damage'; readonly to: 'gone' | 'cut' | 'foreign' | 'bundle'; readonly forMs: number }
);

/** What puts older material back: once the rotation is done, that is the question of `afterwards.ts`. */
const SETS_BACK: readonly Happening['what'][] = ['restore', 'replace', 'join'];

/** Plans them. */
export function schedule(
  world: World<Mint>,
  store: SimStore,
  operation: string,
  happenings: readonly Happening[],
): void {
  const isAfterwards = isDone(store, operation);
  for (const happening of happenings) {
    world.clock.schedule(happening.at, () => {
      if (!isAfterwards && isDone(store, operation) && SETS_BACK.includes(happening.what)) return;
      world.trace(`happens: ${JSON.stringify(happening)}`);
      happen(world, store, operation, happening);
    });
  }
}

function isDone(store: SimStore, operation: string): boolean {
  return store.operations.get(operation)?.status.stage === 'Done';
}

/** A member that somebody has added and that never starts. */
const NEWCOMER = { id: 'ffffffffffffffff', name: 'newcomer', address: undefined, learner: true };

function happen(world: World<Mint>, store: SimStore, operation: string, happening: Happening): void {
  const machine = 'machine' in happening ? world.find(happening.machine) : undefined;
  if (machine !== undefined) {
    happenTo(world, machine, happening);
    return;
  }
  switch (happening.what) {
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
    case 'learner':
      world.etcd.members = [...world.etcd.members, NEWCOMER];
      world.clock.schedule(happening.forMs, () => {
        world.etcd.members = world.etcd.members.filter((member) => member !== NEWCOMER);
      });
      return;
    case 'join':
      join(world, happening.role ?? 'worker', happening.name);
      return;
    default:
      happenToOperation(world, store, operation, happening);
  }
}

function happenTo(world: World, machine: SimMachine, happening: Happening): void {
  switch (happening.what) {
    case 'reboot':
      if (machine.isUp) beginReboot(world, machine);
      return;
    case 'power-loss':
      if (machine.isUp) powerOff(world, machine, [happening.forMs, happening.forMs]);
      return;
    case 'cut-off':
      cutOff(world, machine, happening.forMs);
      return;
    case 'etcd-stop':
      crashEtcd(world, machine, happening.forMs);
      return;
    case 'edit':
      if (machine.isUp) editConfiguration(world, machine);
      return;
    case 'state-full':
      fillState(world, machine, happening.forMs);
      return;
    case 'restore':
      if (!machine.isUp) return;
      machine.persistent = machine.born;
      powerOff(world, machine, [3_000, 3_000]);
      return;
    case 'leave':
      leave(world, machine, happening.how ?? 'reset', happening.forMs ?? 0);
      return;
    case 'replace':
      replace(world, machine, { with: happening.with, emptyMs: happening.forMs });
      return;
    default:
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

function fillState(world: World, machine: SimMachine, forMs: number): void {
  machine.isStateFull = true;
  world.clock.schedule(forMs, () => {
    machine.isStateFull = false;
    machine.persistent = machine.config;
  });
}
