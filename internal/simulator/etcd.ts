import type { SimMachine } from './machine.ts';
import type { Random } from './random.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** One member as the others know it. */
export interface SimMember {
  readonly id: string;
  readonly name: string;
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
  /** Connections by their two ends, the one that comes first by name first: the processes that they are between. */
  const links = new Map<SimMachine, Map<SimMachine, readonly [number, number]>>();
  let electing = false;

  const processOf = (machine: SimMachine) => machine.plane?.etcd;
  const isServing = (machine: SimMachine): boolean => {
    const process = processOf(machine);
    return process?.isRunning === true && clock.monotonic() >= process.readyAt && !machine.isCutOff;
  };
  const isMember = (machine: SimMachine): boolean => etcd.members.some((member) => member.name === machine.name);
  const instance = (machine: SimMachine): number => processOf(machine)?.instance ?? 0;
  const isLinked = (a: SimMachine, b: SimMachine): boolean => {
    if (a === b) return isServing(a);
    if (b.name < a.name) return isLinked(b, a);
    const link = links.get(a)?.get(b);
    return link !== undefined && link[0] === instance(a) && link[1] === instance(b) && isServing(a) && isServing(b);
  };
  const link = (a: SimMachine, b: SimMachine): void => {
    const [first, second] = a.name < b.name ? [a, b] : [b, a];
    const ends = links.get(first) ?? new Map<SimMachine, readonly [number, number]>();
    links.set(first, ends.set(second, [instance(first), instance(second)]));
  };
  const quorum = (): number => Math.floor(etcd.members.filter((member) => !member.learner).length / 2) + 1;
  const followers = (leader: SimMachine): number =>
    planes().filter((machine) => isMember(machine) && isLinked(leader, machine)).length;
  const canLead = (machine: SimMachine): boolean =>
    isMember(machine) && isServing(machine) && followers(machine) >= quorum();

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

  const etcd: SimEtcd = {
    members: planes().map((machine, index) => ({
      id: (0x1000 + index).toString(16).padStart(16, '0'),
      name: machine.name,
      learner: false,
    })),
    leader: planes()[0]?.name,
    alarms: [],
    canDial(a, b) {
      const [pa, pb] = [a.plane, b.plane];
      if (pa === undefined || pb === undefined) return false;
      return pa.etcd.pool.includes(pb.etcdLeaf) && pb.etcd.pool.includes(pa.etcdLeaf);
    },
    isHealthy(machine) {
      const leader = planes().find((each) => each.name === etcd.leader);
      return leader !== undefined && canLead(leader) && isMember(machine) && isLinked(leader, machine);
    },
    update() {
      connect();
      const leader = planes().find((machine) => machine.name === etcd.leader);
      if ((leader !== undefined && canLead(leader)) || electing) return;
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
  };
  etcd.update();
  return etcd;
}
