import type { Clock } from '../../pkg/clock/index.ts';
import type { Machine, Readings } from './readings.ts';
import { createTally, type Tally, type Watched } from './tally.ts';

/** A watch that runs. */
export interface Watch {
  /** Ends it, after one more look at how things are now. */
  stop(): Promise<Watched>;
}

/** How one watches. */
export interface WatchOptions {
  readonly machines: readonly Machine[];
  readonly readings: Readings;
  readonly clock: Clock;
  /** From one look to the next, ms; 1,000 unless given. */
  readonly everyMs?: number;
}

/** Looks at the cluster again and again, each time at everything at once. What cannot be read in a look is not counted. */
export function watchCluster(options: WatchOptions): Watch {
  const { clock, everyMs = 1_000 } = options;
  const planes = options.machines.filter((machine) => machine.role === 'controlplane');
  const tally = createTally(planes.map((machine) => machine.name));
  const stopping = new AbortController();
  const loop = (async () => {
    for (;;) {
      const isLast = stopping.signal.aborted;
      const begun = clock.monotonic();
      await look(options, planes, tally);
      if (isLast) return;
      // A look that took long is followed by the next at once.
      await clock.sleep(Math.max(0, everyMs - (clock.monotonic() - begun)), stopping.signal).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await loop;
      return tally.watched();
    },
  };
}

async function look(options: WatchOptions, planes: readonly Machine[], tally: Tally): Promise<void> {
  const { readings, machines, clock } = options;
  const [nodes, headers, extensions, metrics, boots, perPlane] = await Promise.all([
    attempt(() => readings.nodes()),
    attempt(() => readings.requestHeaderCas()),
    attempt(() => readings.extensionApis()),
    readings.nodeMetrics().then(
      (count) => (count === undefined ? 'absent' : 'answered'),
      () => 'failed' as const,
    ),
    Promise.all(
      machines.map(async (machine) => [machine.name, await attempt(() => readings.bootId(machine))] as const),
    ),
    Promise.all(
      planes.map(async (machine) => ({
        name: machine.name,
        members: await attempt(() => readings.etcdMembers(machine)),
        trust: await attempt(() => readings.etcdTrustFile(machine)),
        ready: (await attempt(() => readings.apiServerReady(machine))) === true,
      })),
    ),
  ]);
  tally.add({ at: clock.monotonic(), nodes, headers, extensions, metrics, boots, perPlane });
}

async function attempt<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch {
    return undefined;
  }
}
