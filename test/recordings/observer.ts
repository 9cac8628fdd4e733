import type { AuditEntry, ClusterState, Session } from '../../internal/controller/index.ts';
import { createIdentities, createSession } from '../../internal/controller/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import { PKI_KINDS } from '../conformance/talos/kinds.ts';
import { type Footprint, footprint, moved } from '../conformance/talos/subject.ts';
import { type FactMeans, readHeld, readShown, UNKNOWN } from './facts.ts';
import type { Facts } from './recording.ts';
import { createRoles, type Roles } from './roles.ts';

/** A machine that is watched. */
export interface WatchedMachine {
  readonly name: string;
  readonly address: string;
  readonly role: 'controlplane' | 'worker';
}

/** Through what a rotation is watched: the ports of the engine, so that real machines, a lab and a world are watched alike. */
export interface ObserverOptions extends Pick<FactMeans, 'connections' | 'issueLeaf'> {
  readonly clock: Clock;
  readonly machines: readonly WatchedMachine[];
  readState(): Promise<ClusterState>;
  readAudit(): Promise<readonly AuditEntry[]>;
  /** Between looks at a machine that something may be moving on, milliseconds. */
  readonly tickMs: number;
}

/** What was seen of one machine, from the first call of a look to its last; times in milliseconds since the epoch. */
export interface Sight {
  readonly from: number;
  readonly until: number;
  /** What moved since the sight before. */
  readonly moved: readonly string[];
  /** A fact that could not be read at that moment has its value of the sight before. */
  readonly facts: Facts;
}

/** Sees a rotation from outside, until it is told to end. */
export interface Observer {
  readonly roles: Roles;
  /** Reaches every machine with whatever identity it takes now. */
  readonly session: Session;
  /** Every sight of every machine, in their order. */
  readonly sights: ReadonlyMap<string, readonly Sight[]>;
  /** One more look at every machine, and no other after it. Throws where one does not answer. */
  end(): Promise<void>;
  close(): void;
}

/** For how long after an effect, or after something moved, a machine is looked at with every tick. */
const RESTLESS_MS = 30_000;
/** Between looks at a machine at rest. */
const AT_REST_MS = 10_000;
/** How often the last look is tried: a busy machine may let one call wait for too long. */
const LAST_LOOKS = 10;

interface Watched {
  readonly machine: WatchedMachine;
  readonly sights: Sight[];
  print: (Footprint & { readonly bootId: string }) | undefined;
  lookedAt: number;
  restlessUntil: number;
}

/** Begins to watch; resolves when every machine was seen once. Throws where one does not answer then. */
export async function startObserver(options: ObserverOptions): Promise<Observer> {
  const { clock, connections, issueLeaf, machines } = options;
  const roles = createRoles((await options.readState()).bundle);
  const session = createSession({ connections, clock });
  const identities = createIdentities(clock, issueLeaf);
  const means: FactMeans = { connections, issueLeaf, now: () => clock.now(), roles };
  const all = machines.map((machine): Watched => {
    return { machine, sights: [], print: undefined, lookedAt: 0, restlessUntil: 0 };
  });
  const ended = new AbortController();
  let heard = 0;

  async function prepare(): Promise<void> {
    const state = await options.readState();
    if (state.record !== undefined) roles.learn(state.record);
    session.use(await identities.talos(state, false));
  }

  async function look(watched: Watched): Promise<void> {
    const { machine, sights } = watched;
    const from = clock.now();
    const [bootId, print, held, shown] = await session.talos(machine, (client) =>
      Promise.all([
        client.bootId(),
        footprint(client, PKI_KINDS),
        readHeld(client, machine.role, roles),
        readShown(means, machine),
      ]),
    );
    const until = clock.now();
    const before = watched.print;
    const names = before === undefined ? [] : movedBetween(before, { ...print, bootId });
    if (names.length > 0) watched.restlessUntil = until + RESTLESS_MS;
    watched.print = { ...print, bootId };
    sights.push({ from, until, moved: names, facts: withoutGaps({ ...held, ...shown }, sights.at(-1)?.facts) });
  }

  /** Machines that effects were for since the last time. */
  async function heed(): Promise<void> {
    const entries = await options.readAudit();
    for (const { machine, machines = [] } of entries.slice(heard)) {
      for (const each of all) {
        if ([machine, ...machines].includes(each.machine.name)) each.restlessUntil = clock.now() + RESTLESS_MS;
      }
    }
    heard = entries.length;
  }

  async function tick(): Promise<void> {
    await heed();
    const now = clock.now();
    const due = all.filter((each) => now < each.restlessUntil || now - each.lookedAt >= AT_REST_MS);
    if (due.length === 0) return;
    await prepare();
    await Promise.all(
      due.map(async (each) => {
        each.lookedAt = now;
        await look(each).catch(() => {
          // It is away, or restarts things: it is asked until it answers.
          each.restlessUntil = clock.now() + RESTLESS_MS;
        });
      }),
    );
  }

  async function watch(): Promise<void> {
    while (!ended.signal.aborted) {
      // Files that are being written, and a sleep that is called off, are no end.
      await tick().catch(() => undefined);
      await clock.sleep(options.tickMs, ended.signal).catch(() => undefined);
    }
  }

  await prepare();
  await Promise.all(all.map(look));
  const watching = watch();
  return {
    roles,
    session,
    sights: new Map(all.map(({ machine, sights }) => [machine.name, sights])),
    async end() {
      ended.abort();
      await watching;
      for (let left = LAST_LOOKS; ; left -= 1) {
        try {
          await prepare();
          await Promise.all(all.map(look));
          return;
        } catch (error) {
          if (left === 1) throw error;
          await clock.sleep(options.tickMs);
        }
      }
    },
    close() {
      ended.abort();
      session.close();
    },
  };
}

type Print = NonNullable<Watched['print']>;

/**
 * With a boot everything starts anew, versions begin again, and how often controllers
 * and pods go round until the machine is at rest is chance: it is told alone.
 */
function movedBetween(before: Print, after: Print): string[] {
  return before.bootId === after.bootId ? moved(before, after) : ['boot'];
}

function withoutGaps(now: Facts, before: Facts | undefined): Facts {
  const filled = Object.entries(now).map(([name, value]) => [
    name,
    value === UNKNOWN ? (before?.[name] ?? value) : value,
  ]);
  return Object.fromEntries(filled) as Facts;
}
