import type { CaStage } from '../../../api/v1alpha1/index.ts';
import type { Happening } from '../happenings.ts';
import type { SimMachine } from '../machine.ts';
import type { Moment } from '../run.ts';
import { isApiServerReady } from '../transitions.ts';
import type { World } from '../world.ts';
import { isBehindStage } from './standing.ts';

/** What other people have done to machines, for as long as what we see may follow from it. */
export interface Others {
  /** Names of machines that they took away or put in another's place, and that are not well again. */
  readonly away: ReadonlySet<string>;
  /** Names of machines that have, or may boot into, an older configuration than we gave them, until a stage is entered that they have come up to. */
  readonly setBack: ReadonlySet<string>;
}

const NOBODY: Others = { away: new Set(), setBack: new Set() };

/** How things are at this moment; asked by every checker, looked for once. */
export function othersOf(moment: Moment): Others {
  if ((moment.scenario.happenings ?? []).length === 0) return NOBODY;
  const watch = watches.get(moment.world) ?? createWatch();
  watches.set(moment.world, watch);
  watch.look(moment);
  return watch;
}

/** So long at most is there no leader after somebody took it away. */
export const ELECTION_MS = 2_000;

/** Whether other people's hands may have cost etcd its quorum, with the one machine that we may have away at a time. */
export function mayHaveLostQuorum({ world }: Moment, { away }: Others): boolean {
  const voters = world.etcd.members.filter((member) => !member.learner);
  const gone = voters.filter(({ name }) => away.has(name) || world.find(name) === undefined).length;
  return gone > 0 && voters.length - gone - 1 < Math.floor(voters.length / 2) + 1;
}

/** Whether a control plane is among those that were set back: workers ask any of them. */
export function isAnyPlaneSetBack(moment: Moment): boolean {
  const { setBack } = othersOf(moment);
  return setBack.size > 0 && moment.world.planes().some(({ name }) => setBack.has(name));
}

const watches = new WeakMap<World, Watch>();

const TAKES_AWAY: readonly Happening['what'][] = [
  'reboot',
  'power-loss',
  'cut-off',
  'etcd-stop',
  'restore',
  'leave',
  'replace',
  'join',
];
/** A machine whose STATE takes nothing comes back with what it had before, whoever reboots it. */
const SETS_BACK: readonly Happening['what'][] = ['restore', 'replace', 'join', 'state-full'];

interface Watch extends Others {
  look(moment: Moment): void;
}

/** A machine that somebody took away: who it was, in which boot, and until when they keep it. */
interface Taken {
  readonly name: string;
  readonly machine: SimMachine | undefined;
  readonly boot: number;
  readonly until: number;
}

function createWatch(): Watch {
  const seen = new Set<Happening>();
  const away = new Set<string>();
  const setBack = new Set<string>();
  let taken: Taken[] = [];
  let stage: CaStage | undefined;
  let seenAt: { readonly at: number; readonly lines: number; readonly stage: CaStage | undefined } | undefined;

  function begin({ world, scenario }: Moment): void {
    const now = world.clock.monotonic();
    for (const happening of scenario.happenings ?? []) {
      const name = nameOf(happening);
      if (name === undefined || happening.at > now || seen.has(happening)) continue;
      seen.add(happening);
      if (SETS_BACK.includes(happening.what)) setBack.add(name);
      if (TAKES_AWAY.includes(happening.what)) taken = [...taken, takenBy(world, name, happening)];
    }
  }

  function end(moment: Moment): void {
    taken = taken.filter((each) => !isOver(moment.world, each));
    away.clear();
    for (const { name } of taken) away.add(name);
    const entered = moment.operation?.status.stage;
    if (entered !== stage) {
      for (const name of setBack) {
        const machine = moment.world.find(name);
        if (!away.has(name) && (machine === undefined || !isBehindStage(moment, machine))) setBack.delete(name);
      }
    }
    stage = entered;
  }

  return {
    away,
    setBack,
    look(moment) {
      const { world, operation } = moment;
      const now = { at: world.clock.monotonic(), lines: world.lines.length, stage: operation?.status.stage };
      if (seenAt?.at === now.at && seenAt.lines === now.lines && seenAt.stage === now.stage) return;
      seenAt = now;
      begin(moment);
      end(moment);
    },
  };
}

function takenBy(world: World, name: string, happening: Happening): Taken {
  const machine = world.find(name);
  // Only these keep their boot.
  const isSameBoot = happening.what === 'cut-off' || happening.what === 'etcd-stop';
  const boot = isSameBoot ? -1 : (machine?.boot ?? -1);
  // Whoever is to leave in order may have to ask etcd again and again.
  const isLeaving = happening.what === 'leave';
  const keptMs = 'forMs' in happening ? (happening.forMs ?? 0) : 0;
  return { name, machine, boot, until: isLeaving ? Number.POSITIVE_INFINITY : happening.at + keptMs };
}

function nameOf(happening: Happening): string | undefined {
  if (happening.what === 'join') return happening.name;
  return 'machine' in happening ? happening.machine : undefined;
}

function isOver(world: World, taken: Taken): boolean {
  const isGone = taken.machine !== undefined && world.find(taken.name) === undefined;
  return isGone || (world.clock.monotonic() >= taken.until && isBack(world, taken));
}

/** In another boot where it lost the one that it had, and everything that we go by answers again. */
function isBack(world: World, { name, machine, boot, until }: Taken): boolean {
  const now = world.find(name);
  // One that is to join may not have been added yet; one that has left is nobody's any more.
  if (now === undefined) return machine !== undefined;
  const isAnother = now !== machine || now.boot > boot;
  return (isAnother || world.clock.monotonic() > until + UNTOUCHED_MS) && isWell(world, now);
}

/** Whoever is well for so long after it was to go in the boot of before has not gone: etcd would have been lost with it. */
const UNTOUCHED_MS = 60_000;

function isWell(world: World, machine: SimMachine): boolean {
  if (!machine.isUp || machine.isCutOff || machine.node?.ready !== 'True') return false;
  if (machine.node.bootId !== machine.bootId || machine.plane === undefined) return machine.plane === undefined;
  return world.etcd.isHealthy(machine) && isApiServerReady(world, machine);
}
