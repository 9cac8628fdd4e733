import { later } from './later.ts';
import type { SimMachine } from './machine.ts';
import { prints } from './material.ts';
import type { Span } from './timing.ts';
import type { World } from './world.ts';

/** How a control plane's etcd comes into being, and how it goes: what Talos does at a boot, at a reset, and what people do. */

/** Talos asks to be let in again after three seconds and a part of one (`buildInitialCluster`). */
const ASK_AGAIN: Span = [3_000, 4_000];
/** From the start of a learner until it has caught up with a small database. */
const CATCH_UP: Span = [1_000, 3_000];
/** How often a person, or a reset, repeats what etcd refuses. */
const INSIST_MS = 5_000;

/**
 * etcd of a booted control plane starts: as the member that its data directory
 * holds, or, where that is empty, as a learner once the others have let it in.
 * `onVoting` follows when it may vote: Talos starts the static pods only behind
 * an etcd that is healthy, and a learner answers no read.
 */
export function startMember(world: World, machine: SimMachine, onVoting: () => void): void {
  if (world.etcd.memberOf(machine) === undefined && !world.etcd.admit(machine)) {
    later(world, machine, ASK_AGAIN, () => startMember(world, machine, onVoting));
    return;
  }
  const { plane } = machine;
  if (plane === undefined) return;
  plane.etcd.instance += 1;
  plane.etcd.startedAt = world.clock.now();
  plane.etcd.isRunning = true;
  plane.etcd.pool = prints(machine.taken.etcd?.bundle ?? []);
  plane.etcd.startedWith = machine.others?.etcd;
  plane.etcd.readyAt = world.clock.monotonic();
  world.trace(`${machine.name} etcd started`);
  world.etcd.update();
  vote(world, machine, onVoting);
}

function vote(world: World, machine: SimMachine, onVoting: () => void): void {
  const member = world.etcd.memberOf(machine);
  if (member?.learner !== true) {
    onVoting();
    return;
  }
  later(world, machine, CATCH_UP, () => {
    if (world.etcd.promote(machine)) world.trace(`${machine.name} votes in etcd`);
    vote(world, machine, onVoting);
  });
}

/** Repeats what etcd refuses as long as it does, as `talosctl reset` and people do; then `onDone` follows. */
function insist(world: World, machine: SimMachine, attempt: () => boolean, onDone: () => void): void {
  // Another machine has its place.
  if (world.find(machine.name) !== machine) return;
  if (attempt()) onDone();
  else world.clock.schedule(INSIST_MS, () => insist(world, machine, attempt, onDone));
}

/** Takes a running machine out of etcd in order (`EtcdLeaveCluster`): it hands over, is removed, stops, and its data directory is emptied. */
export function leaveEtcd(world: World, machine: SimMachine, onDone: () => void): void {
  const attempt = (): boolean => {
    const { plane } = machine;
    // Another sequence holds the machine: the reset is asked for again.
    if (plane === undefined || !machine.isUp || machine.isRebooting || machine.isCutOff) return false;
    const member = world.etcd.memberOf(machine);
    if (member !== undefined) {
      world.etcd.forfeit(machine);
      if (!world.etcd.remove(member.id)) return false;
    }
    plane.memberId = undefined;
    return true;
  };
  insist(world, machine, attempt, onDone);
}

/**
 * The disk of a machine is gone, and its member stays in the list. Gives what a
 * person does about that (`talosctl etcd remove-member`), repeated until etcd takes it.
 */
export function loseMember(world: World, machine: SimMachine): (onRemoved: () => void) => void {
  const member = world.etcd.memberOf(machine);
  if (machine.plane !== undefined) machine.plane.memberId = undefined;
  return (onRemoved) => insist(world, machine, () => member === undefined || world.etcd.remove(member.id), onRemoved);
}
