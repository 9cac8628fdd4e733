import type { SimMachine } from './machine.ts';
import type { Random } from './random.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** One member as the others know it. */
export interface SimMember {
  readonly id: string;
  readonly name: string;
  /** Where it listens; undefined for one that nobody ever saw. */
  readonly address: string | undefined;
  readonly learner: boolean;
}

/**
 * The etcd of a world: processes that trust what they read at their start, leaves
 * that change under them, and connections between them that live on until one
 * side restarts. Quorum follows from the connections, nothing else.
 */
export interface SimEtcd {
  members: SimMember[];
  leader: string | undefined;
  alarms: string[];
  /** Whether a new connection between two running members would come about, in both directions. */
  canDial(a: SimMachine, b: SimMachine): boolean;
  /** Whether the member of this machine serves: it runs, and is connected to a leader that a majority follows. */
  isHealthy(machine: SimMachine): boolean;
  /** Looks at who is connected to whom, and elects where there is no leader. */
  update(): void;
  /** Breaks every connection: what then comes about is what new handshakes allow. */
  cut(): void;
  forfeit(machine: SimMachine): string | undefined;
  /** The member that a machine is, by what is in its data directory; undefined where it is none (any more). */
  memberOf(machine: SimMachine): SimMember | undefined;
  /** Adds the machine as a learner, after removing a member of its name; false where etcd or the handshake refuses. */
  admit(machine: SimMachine): boolean;
  /** Lets a learner vote that has caught up; false where it has not, or nobody leads. */
  promote(machine: SimMachine): boolean;
  /** Whether the data of enough members would be left for a quorum if this machine's disk were gone for good. */
  canLose(machine: SimMachine): boolean;
  /** Removes a member; false where etcd refuses, because those that are left would have no quorum. */
  remove(id: string): boolean;
}

/** How long the others take to elect a leader. */
const ELECTION_MS = 1_200;

/** An etcd of these control planes; `machines` is asked anew at every look. */
export function createEtcd(options: {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly planes: () => readonly SimMachine[];
}): SimEtcd {
  const { clock, planes } = options;
  /** Connections by either end and the other: the processes at the two. */
  const links = new Map<SimMachine, Map<SimMachine, readonly [number, number]>>();
  let electing = false;
  let made = 0;

  const processOf = (machine: SimMachine) => machine.plane?.etcd;
  const isServing = (machine: SimMachine): boolean => {
    const process = processOf(machine);
    return process?.isRunning === true && clock.monotonic() >= process.readyAt && !machine.isCutOff;
  };
  const memberOf = (machine: SimMachine): SimMember | undefined => {
    const id = machine.plane?.memberId;
    if (id === undefined) return undefined;
    for (const member of etcd.members) if (member.id === id) return member;
    return undefined;
  };
  const isVoter = (machine: SimMachine): boolean => memberOf(machine)?.learner === false;
  const voters = (): SimMember[] => etcd.members.filter((member) => !member.learner);
  const machineOf = ({ id }: SimMember): SimMachine | undefined =>
    planes().find((machine) => machine.plane?.memberId === id);
  const instance = (machine: SimMachine): number => processOf(machine)?.instance ?? 0;
  const isLinked = (a: SimMachine, b: SimMachine): boolean => {
    if (a === b) return isServing(a);
    const link = links.get(a)?.get(b);
    return link !== undefined && link[0] === instance(a) && link[1] === instance(b) && isServing(a) && isServing(b);
  };
  const linkOneWay = (from: SimMachine, to: SimMachine): void => {
    const ends = links.get(from) ?? new Map<SimMachine, readonly [number, number]>();
    links.set(from, ends.set(to, [instance(from), instance(to)]));
  };
  const link = (a: SimMachine, b: SimMachine): void => {
    linkOneWay(a, b);
    linkOneWay(b, a);
  };
  // Asked at every call of every look.
  const quorum = (): number => {
    let count = 0;
    for (const member of etcd.members) if (!member.learner) count += 1;
    return Math.floor(count / 2) + 1;
  };
  const followers = (leader: SimMachine): number => {
    let count = 0;
    for (const machine of planes()) if (isVoter(machine) && isLinked(leader, machine)) count += 1;
    return count;
  };
  const canLead = (machine: SimMachine): boolean =>
    isVoter(machine) && isServing(machine) && followers(machine) >= quorum();

  function connect(): void {
    const all = planes();
    for (const [index, a] of all.entries()) {
      for (const b of all.slice(index + 1)) {
        if (isServing(a) && isServing(b) && !isLinked(a, b) && etcd.canDial(a, b)) link(a, b);
      }
    }
  }

  function elect(): void {
    electing = false;
    connect();
    const current = planes().find((machine) => machine.name === etcd.leader);
    if (current !== undefined && canLead(current)) return;
    etcd.leader = planes().find(canLead)?.name;
  }

  /** A member with an ID that no other has had; it goes into the data directory of its machine. */
  function createMember(machine: SimMachine, learner: boolean): SimMember {
    const id = (0x1000 + made).toString(16).padStart(16, '0');
    made += 1;
    if (machine.plane !== undefined) machine.plane.memberId = id;
    return { id, name: machine.name, address: machine.address, learner };
  }

  function leaderOf(): SimMachine | undefined {
    for (const machine of planes()) if (machine.name === etcd.leader) return canLead(machine) ? machine : undefined;
    return undefined;
  }

  /** Whether a newcomer and a voter take each other's certificates; what the newcomer trusts is what lies on its disk. */
  function knows(newcomer: SimMachine, voter: SimMachine): boolean {
    const [{ plane, taken }, pool] = [newcomer, voter.plane?.etcd.pool ?? []];
    const trusted = (taken.etcd?.bundle ?? []).map((ca) => ca.fingerprint);
    return (
      plane !== undefined && pool.includes(plane.etcdLeaf) && trusted.includes(voter.plane?.etcdLeaf ?? plane.etcdLeaf)
    );
  }

  /** `isConnectedFullySince`: etcd takes a member only while every voter is connected to the one that is asked. */
  function isWholeAround(machine: SimMachine): boolean {
    return voters().every((voter) => {
      const other = machineOf(voter);
      return other !== undefined && isLinked(machine, other);
    });
  }

  const etcd: SimEtcd = {
    members: [],
    leader: planes()[0]?.name,
    alarms: [],
    canDial(a, b) {
      const [pa, pb] = [a.plane, b.plane];
      if (pa === undefined || pb === undefined) return false;
      return pa.etcd.pool.includes(pb.etcdLeaf) && pb.etcd.pool.includes(pa.etcdLeaf);
    },
    isHealthy(machine) {
      const leader = leaderOf();
      return leader !== undefined && isVoter(machine) && isLinked(leader, machine);
    },
    update() {
      connect();
      if (leaderOf() !== undefined || electing) return;
      electing = true;
      clock.schedule(ELECTION_MS, elect);
    },
    cut() {
      links.clear();
      for (const { plane } of planes()) if (plane !== undefined) plane.apiServer.etcdLink = undefined;
      etcd.update();
    },
    forfeit(machine) {
      if (etcd.leader !== machine.name) return undefined;
      const next = planes().find((each) => each !== machine && canLead(each));
      if (next !== undefined) etcd.leader = next.name;
      return next?.name;
    },
    memberOf,
    admit(machine) {
      if (leaderOf() === undefined) return false;
      // Talos removes a member of the same name before it adds itself: its data directory is empty.
      const namesake = etcd.members.find((member) => member.name === machine.name);
      if (namesake !== undefined && !etcd.remove(namesake.id)) return false;
      // One learner at a time (`--max-learners`).
      if (etcd.members.some((member) => member.learner)) return false;
      const asked = planes().find((each) => etcd.isHealthy(each) && knows(machine, each) && isWholeAround(each));
      if (asked === undefined) return false;
      etcd.members = [...etcd.members, createMember(machine, true)];
      return true;
    },
    promote(machine) {
      const [leader, member] = [leaderOf(), memberOf(machine)];
      if (leader === undefined || member === undefined || !isLinked(leader, machine)) return false;
      etcd.members = etcd.members.map((each) => (each === member ? { ...each, learner: false } : each));
      return true;
    },
    canLose(machine) {
      const left = voters()
        .map(machineOf)
        .filter((each) => each !== undefined && each !== machine);
      return left.length >= quorum();
    },
    remove(id) {
      const leader = leaderOf();
      const member = etcd.members.find((each) => each.id === id);
      if (leader === undefined || member === undefined) return member === undefined;
      const machine = machineOf(member);
      const isActive = machine !== undefined && isLinked(leader, machine);
      // `mayRemoveMember`: who is down may go; who is up, only while the others that are up have quorum without it.
      if (!member.learner && isActive && followers(leader) - 1 < 1 + Math.floor((voters().length - 1) / 2))
        return false;
      etcd.members = etcd.members.filter((each) => each !== member);
      etcd.update();
      return true;
    },
  };
  etcd.members = planes().map((machine) => createMember(machine, false));
  etcd.update();
  return etcd;
}
