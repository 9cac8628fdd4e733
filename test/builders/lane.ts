import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { AuditLine } from '../../internal/lane/audit.ts';
import type { IchorEnd, IchorRun } from '../../internal/lane/ichor.ts';
import type { LaneContext } from '../../internal/lane/model.ts';
import type { Machine, Readings } from '../../internal/lane/readings.ts';
import { openBundle } from '../../pkg/bundle/index.ts';
import { bundleFixture } from './bundle.ts';
import { aSnapshot } from './snapshot.ts';

/** What a cluster of a test is like now; a test changes it as a rotation would. */
export interface LaneWorld {
  readonly machines: readonly Machine[];
  cordoned: string[];
  silent: string[];
  unready: string[];
  boots: Record<string, number>;
  members: Record<string, string[]>;
  trust: Record<string, string[]>;
  leafByFirst: boolean;
  requestHeader: string[];
  extensions: { name: string; available: boolean; message: string }[];
  metrics: number | undefined;
  configMaps: Map<string, string>;
  trail: AuditLine[];
  /** Resolves when the cluster was looked at so many more times. */
  looks(times?: number): Promise<void>;
  /** Adds one effect to the trail, before and after it was sent. */
  effect(line: Pick<AuditLine, 'stage' | 'effect' | 'machine'>, work?: () => Promise<void> | void): Promise<void>;
}

/** What `ichor` does in a test, by its arguments; resolves with the exit code. */
export type Script = (args: readonly string[], world: LaneWorld, run: ScriptRun) => Promise<number>;

/** The side of a scripted `ichor` that the script sees. */
export interface ScriptRun {
  print(line: string): void;
  /** Rejects once it was killed. */
  alive(): Promise<void>;
}

/** Everything that a step works with, over a cluster of three control planes and a worker in memory. */
export function aLane(
  script: Script,
  overrides: Partial<LaneContext> = {},
): { context: LaneContext; world: LaneWorld } {
  const world = aWorld();
  const clock = eagerClock();
  const context: LaneContext = {
    directory: '/nowhere',
    reports: '/nowhere',
    machines: world.machines,
    readings: readingsOf(world),
    ichor: {
      start: (args) => startScript(args, script, world),
      run: (args) => startScript(args, script, world).ended,
    },
    clock,
    audit: async () => [...world.trail],
    bundle: async () =>
      (await openBundle(Buffer.from(bundleFixture('secrets-v1.14.txt')), { path: 'secrets.yaml' })).bundle,
    power: undefined,
    ask: undefined,
    say: () => undefined,
    memory: {},
    ...overrides,
  };
  return { context, world };
}

function aWorld(): LaneWorld & { looked(): void } {
  const versions = { talos: 'v1.14.1', kubelet: 'v1.36.3' };
  const plane = (name: string, index: number): Machine => ({
    name,
    address: `10.5.0.${index + 2}`,
    role: 'controlplane',
    ...versions,
  });
  const planes = ['cp1', 'cp2', 'cp3'];
  let looked = 0;
  const waiting: { at: number; done: () => void }[] = [];
  const world = {
    machines: [...planes.map(plane), { name: 'w1', address: '10.5.0.9', role: 'worker' as const, ...versions }],
    cordoned: [],
    silent: [],
    unready: [],
    boots: { cp1: 1, cp2: 1, cp3: 1, w1: 1 },
    members: Object.fromEntries(planes.map((name) => [name, ['a', 'b', 'c']])),
    trust: Object.fromEntries(planes.map((name) => [name, ['old']])),
    leafByFirst: true,
    requestHeader: ['front-old'],
    extensions: [],
    metrics: undefined,
    configMaps: new Map<string, string>(),
    trail: [] as AuditLine[],
    looks: (times = 2) =>
      new Promise<void>((done) => {
        waiting.push({ at: looked + times, done });
      }),
    async effect(
      line: Pick<AuditLine, 'stage' | 'effect' | 'machine'>,
      work: () => Promise<void> | void = () => undefined,
    ) {
      world.trail.push({ operation: 'rotate', ...line, phase: 'before' });
      await work();
      world.trail.push({ operation: 'rotate', ...line, phase: 'after', outcome: 'ok' });
    },
    looked() {
      looked += 1;
      for (const each of waiting.splice(0)) {
        if (each.at <= looked) each.done();
        else waiting.push(each);
      }
    },
  };
  return world;
}

function readingsOf(world: LaneWorld & { looked(): void }): Readings {
  const answer = async <T>(machine: Machine, value: T): Promise<T> => {
    if (world.silent.includes(machine.name)) throw new Error(`${machine.name} does not answer`);
    return value;
  };
  return {
    async nodes() {
      world.looked();
      return world.machines.map(({ name }) => ({
        name,
        ready: !world.silent.includes(name),
        cordoned: world.cordoned.includes(name),
      }));
    },
    apiServerReady: (machine) => answer(machine, !world.unready.includes(machine.name)),
    bootId: (machine) => answer(machine, `boot ${world.boots[machine.name]}`),
    etcdMembers: (machine) => answer(machine, world.members[machine.name] ?? []),
    etcdHealthy: (machine) => answer(machine, true),
    etcdTrustFile: (machine) => answer(machine, world.trust[machine.name] ?? []),
    etcdPki: (machine) => answer(machine, { trusted: world.trust[machine.name] ?? [], leafByFirst: world.leafByFirst }),
    etcdSnapshot: (_machine, use) => use(aSnapshot('the database')),
    requestHeaderCas: async () => world.requestHeader,
    extensionApis: async () => world.extensions,
    nodeMetrics: async () => world.metrics,
    createConfigMap: async (name, value) => {
      world.configMaps.set(name, value);
    },
    readConfigMap: async (name) => world.configMaps.get(name),
    deleteConfigMap: async (name) => {
      world.configMaps.delete(name);
    },
  };
}

function startScript(args: readonly string[], script: Script, world: LaneWorld): IchorRun {
  let output = '';
  let isOver = false;
  let isKilled = false;
  const killed = Promise.withResolvers<IchorEnd>();
  const run: ScriptRun = {
    print: (line) => {
      output += `${line}\n`;
    },
    alive: async () => {
      if (isKilled) await new Promise(() => undefined);
    },
  };
  const ran = script(args, world, run).then((code) => ({ code, output }));
  const ended = Promise.race([ran, killed.promise]).finally(() => {
    isOver = true;
  });
  return {
    ended,
    isOver: () => isOver,
    output: () => output,
    kill() {
      isKilled = true;
      killed.resolve({ code: 137, output });
    },
  };
}

/** Time that passes as soon as somebody waits for it. */
function eagerClock(): LaneContext['clock'] {
  let now = Date.parse('2026-11-05T12:00:00Z');
  return {
    now: () => now,
    monotonic: () => now,
    async sleep(ms, signal) {
      if (signal?.aborted) throw signal.reason;
      await new Promise((done) => setImmediate(done));
      now += Math.max(ms, 0);
    },
  };
}

/** An etcd rotation as it should go: every trust file through its contents, every control plane rebooted twice. */
export async function rotateEtcdWell(world: LaneWorld, run: ScriptRun): Promise<void> {
  const planes = world.machines.filter((machine) => machine.role === 'controlplane').map(({ name }) => name);
  const old = world.trust.cp1?.[0] ?? '';
  const incoming = `${old}+1`;
  const tell = async (stage: string, trust: string[]) => {
    for (const machine of planes) {
      await world.effect({ stage, effect: 'apply-config', machine }, () => {
        world.trust[machine] = trust;
      });
    }
    await world.looks();
    await run.alive();
  };
  const roll = async (stage: string) => {
    for (const machine of planes) await rebootWell(world, run, stage, machine);
  };
  await world.looks();
  await tell('Accepting', [old, incoming]);
  await roll('Accepting');
  await tell('Issuing', [incoming, old]);
  await tell('Dropping', [incoming]);
  await roll('Dropping');
}

/** One control plane: cordoned, rebooted, uncordoned, each seen at least once. */
export async function rebootWell(world: LaneWorld, run: ScriptRun, stage: string, machine: string): Promise<void> {
  await world.effect({ stage, effect: 'cordon', machine }, () => {
    world.cordoned.push(machine);
  });
  await world.looks();
  await run.alive();
  await world.effect({ stage, effect: 'reboot', machine }, async () => {
    await run.alive();
    world.silent.push(machine);
    world.unready.push(machine);
  });
  await world.looks();
  await run.alive();
  world.boots[machine] = (world.boots[machine] ?? 0) + 1;
  world.silent = world.silent.filter((name) => name !== machine);
  world.unready = world.unready.filter((name) => name !== machine);
  await world.looks();
  await run.alive();
  await world.effect({ stage, effect: 'uncordon', machine }, () => {
    world.cordoned = world.cordoned.filter((name) => name !== machine);
  });
}

/** The targets on a command line of `rotate-ca`. */
export function targetsIn(args: readonly string[]): readonly CaTarget[] {
  return (args[args.indexOf('--ca') + 1] ?? '').split(',') as CaTarget[];
}
