import type { AskedReboot } from '../call-log.ts';
import type { Checker, Moment } from '../run.ts';
import { ELECTION_MS, mayHaveLostQuorum, othersOf } from './others.ts';
import { watchReboots } from './reboots.ts';

/**
 * S3: quorum is never broken by us, not even if every connection broke this
 * instant: what then comes about follows from what each process read at its start.
 */
export function quorum(): Checker {
  let lostAt: number | undefined;
  const reboots = watchReboots({
    asked: (moment, reboot) => tooFew(moment, reboot, []),
    // Whoever went by other hands between the request and the reboot could not be waited for.
    begun: (moment, reboot) => tooFew(moment, reboot, [...othersOf(moment).away]),
  });
  return {
    property: 'S3 quorum',
    check(moment) {
      const why = reboots.look(moment) ?? shakenHands(moment);
      if (why !== undefined) return why;
      const found = lost(moment);
      lostAt = found === undefined ? undefined : (lostAt ?? moment.world.clock.monotonic());
      return lostAt === undefined || isByOthers(moment, lostAt) ? undefined : found;
    },
  };
}

function needed(total: number): number {
  return Math.floor(total / 2) + 1;
}

/** A reboot is asked for, and begins, only if the others keep quorum without it. */
function tooFew({ world }: Moment, { machine }: AskedReboot, excused: readonly string[]): string | undefined {
  const total = world.etcd.members.filter((member) => !member.learner).length;
  // One of one is allowed; one of two takes the other's quorum with it.
  if (total < 2) return undefined;
  const others = world.planes().filter(({ name }) => name !== machine);
  const serving = others.filter((each) => excused.includes(each.name) || world.etcd.isHealthy(each)).length;
  return serving >= needed(total)
    ? undefined
    : `${machine} is rebooted while ${serving} of the other ${total - 1} members serve`;
}

function lost({ world }: Moment): string | undefined {
  const total = world.etcd.members.filter((member) => !member.learner).length;
  if (total < 3) return undefined;
  const healthy = world.planes().filter((each) => world.etcd.isHealthy(each)).length;
  return healthy >= needed(total) ? undefined : `${healthy} of ${total} members of etcd serve`;
}

/** Whether others took so many away, or the leader a moment ago. */
function isByOthers(moment: Moment, lostAt: number): boolean {
  const others = othersOf(moment);
  const isElecting = others.away.size > 0 && moment.world.clock.monotonic() - lostAt <= ELECTION_MS;
  return isElecting || mayHaveLostQuorum(moment, others);
}

/** Whoever was set back is not let in before it is told. */
function shakenHands(moment: Moment): string | undefined {
  const { world } = moment;
  const { setBack } = othersOf(moment);
  const running = world.planes().filter(({ name, plane }) => plane?.etcd.isRunning === true && !setBack.has(name));
  for (const a of running) {
    for (const b of running) {
      if (!world.etcd.canDial(a, b)) return `a new connection between etcd on ${a.name} and ${b.name} would be refused`;
    }
    const { plane } = a;
    if (plane?.apiServer.isRunning === true && !plane.apiServer.etcdPool.includes(plane.etcdLeaf)) {
      return `the API server of ${a.name} would refuse a new connection to its etcd`;
    }
  }
  return undefined;
}
