/** What was seen of a cluster while something was done to it. */
export interface Watched {
  /** Most Nodes that were cordoned at once, and every one that ever was. */
  readonly cordonedAtOnce: number;
  readonly cordoned: readonly string[];
  /** `machine: member` for every etcd member that a list did not hold. */
  readonly lostMembers: readonly string[];
  /** What `/system/secrets/etcd/ca.crt` of each control plane held, one entry for every change, the first being what it held before. */
  readonly trustFiles: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** How often each machine was seen on another boot. */
  readonly boots: Readonly<Record<string, number>>;
  /** Most control planes whose Talos API did not answer at once. */
  readonly silentAtOnce: number;
  /** Longest time without `/readyz`, per control plane, ms. */
  readonly longestUnreadyMs: Readonly<Record<string, number>>;
  /** How often no API server was ready. */
  readonly allUnready: number;
  /** What requestheader-client-ca-file held, one entry for every change. */
  readonly requestHeader: readonly (readonly string[])[];
  /** Longest time that an extension API was said not to be available, ms. */
  readonly longestUnavailableMs: Readonly<Record<string, number>>;
  /** How often the metrics API was asked and did not answer, of how many times. */
  readonly metrics: { readonly asked: number; readonly failed: number };
  readonly looks: number;
}

/** Everything that one look saw; what could not be read is `undefined`. */
export interface Look {
  /** Monotonic, ms. */
  readonly at: number;
  readonly nodes: readonly { readonly name: string; readonly cordoned: boolean }[] | undefined;
  readonly headers: readonly string[] | undefined;
  readonly extensions: readonly { readonly name: string; readonly available: boolean }[] | undefined;
  readonly metrics: 'absent' | 'answered' | 'failed';
  readonly boots: readonly (readonly [string, string | undefined])[];
  readonly perPlane: readonly PlaneLook[];
}

interface PlaneLook {
  readonly name: string;
  readonly members: readonly string[] | undefined;
  readonly trust: readonly string[] | undefined;
  readonly ready: boolean;
}

/** Adds looks up; holds the last value of everything to see it change. */
export interface Tally {
  add(look: Look): void;
  watched(): Watched;
}

/** An empty tally of a cluster with these control planes. */
export function createTally(planes: readonly string[]): Tally {
  const cordons = createCordons();
  const boots = createBoots(planes);
  const members = createMembers();
  const unready = createGaps();
  const unavailable = createGaps();
  const trust = new Map<string, (readonly string[])[]>(planes.map((name) => [name, []]));
  const headers: (readonly string[])[] = [];
  const metrics = { asked: 0, failed: 0 };
  let allUnready = 0;
  let wereAllUnready = false;
  let looks = 0;

  return {
    add(look) {
      looks += 1;
      cordons.add(look.nodes ?? []);
      boots.add(look.boots);
      for (const plane of look.perPlane) {
        unready.add(plane.name, look.at, !plane.ready);
        members.add(plane);
        noteChange(trust.get(plane.name) ?? [], plane.trust);
      }
      const areAllUnready = look.perPlane.every((plane) => !plane.ready);
      if (areAllUnready && !wereAllUnready) allUnready += 1;
      wereAllUnready = areAllUnready;
      noteChange(headers, look.headers);
      for (const { name, available } of look.extensions ?? []) unavailable.add(name, look.at, !available);
      if (look.metrics !== 'absent') metrics.asked += 1;
      if (look.metrics === 'failed') metrics.failed += 1;
    },
    watched: () => ({
      ...cordons.seen(),
      ...boots.seen(),
      lostMembers: members.lost(),
      trustFiles: Object.fromEntries(trust),
      longestUnreadyMs: unready.longest(),
      allUnready,
      requestHeader: headers,
      longestUnavailableMs: unavailable.longest(),
      metrics,
      looks,
    }),
  };
}

function noteChange(changes: (readonly string[])[], value: readonly string[] | undefined): void {
  if (value !== undefined && changes.at(-1)?.join() !== value.join()) changes.push(value);
}

function createCordons() {
  const ever = new Set<string>();
  let atOnce = 0;
  return {
    add(nodes: NonNullable<Look['nodes']>): void {
      const now = nodes.filter((node) => node.cordoned);
      for (const node of now) ever.add(node.name);
      atOnce = Math.max(atOnce, now.length);
    },
    seen: () => ({ cordonedAtOnce: atOnce, cordoned: [...ever].sort() }),
  };
}

function createBoots(planes: readonly string[]) {
  const last = new Map<string, string>();
  const times = new Map<string, number>();
  let silentAtOnce = 0;
  return {
    add(boots: Look['boots']): void {
      const silent = boots.filter(([name, boot]) => boot === undefined && planes.includes(name));
      silentAtOnce = Math.max(silentAtOnce, silent.length);
      for (const [name, boot] of boots) {
        if (boot === undefined) continue;
        if (last.has(name) && last.get(name) !== boot) times.set(name, (times.get(name) ?? 0) + 1);
        last.set(name, boot);
      }
    },
    seen: () => ({ boots: Object.fromEntries(times), silentAtOnce }),
  };
}

/** The first list that any machine gives is what every later one must hold. */
function createMembers() {
  const lost = new Set<string>();
  let first: readonly string[] | undefined;
  return {
    add({ name, members }: PlaneLook): void {
      if (members === undefined) return;
      first ??= members;
      for (const member of first.filter((each) => !members.includes(each))) lost.add(`${name}: ${member}`);
    },
    lost: () => [...lost].sort(),
  };
}

/** How long each of several things lasted at most, from the look that first saw it to the look that last did. */
function createGaps() {
  const since = new Map<string, number>();
  const longest = new Map<string, number>();
  return {
    add(name: string, at: number, isGap: boolean): void {
      if (!isGap) {
        since.delete(name);
        return;
      }
      const begun = since.get(name) ?? at;
      since.set(name, begun);
      longest.set(name, Math.max(longest.get(name) ?? 0, Math.round(at - begun)));
    },
    longest: (): Record<string, number> => Object.fromEntries(longest),
  };
}
