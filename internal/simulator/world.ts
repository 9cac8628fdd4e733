import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import { writeConfiguration } from './configuration.ts';
import { createEtcd, type SimEtcd } from './etcd.ts';
import { createKubernetes, type SimKubernetes } from './kubernetes.ts';
import { createMachine, type SimMachine } from './machine.ts';
import { type Mint, WORLD_START } from './mint.ts';
import { createRandom, hashOf, type Random } from './random.ts';
import { startTicks } from './ticks.ts';
import { MEASURED, type Timing } from './timing.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** What a world is made of. */
export interface WorldOptions {
  readonly seed: number;
  readonly controlPlanes: number;
  readonly workers: number;
  /** 1.14.1 unless given. */
  readonly talosVersion?: string;
  /** `typed` unless given; versions before 1.14 know only `legacy`. */
  readonly shape?: 'legacy' | 'typed';
  readonly timing?: Partial<Timing>;
  readonly mint: Mint;
}

/** One line of what happened: symbolic, so that it is the same on every machine. */
export interface TraceLine {
  /** Virtual milliseconds since the start. */
  readonly at: number;
  readonly what: string;
}

/** A cluster in memory: machines, etcd, Kubernetes, one clock, one seed. */
export interface World {
  readonly clock: VirtualClock;
  readonly mint: Mint;
  readonly timing: Timing;
  readonly bundle: SecretsBundle;
  readonly etcd: SimEtcd;
  readonly kubernetes: SimKubernetes;
  /** Control planes first, each group by name. */
  machines(): readonly SimMachine[];
  planes(): readonly SimMachine[];
  find(name: string): SimMachine | undefined;
  at(address: string): SimMachine | undefined;
  /** A machine that joins, with the configuration given; its Node appears with its first heartbeat. */
  add(options: { name: string; role: 'controlplane' | 'worker'; config: string }): SimMachine;
  remove(name: string): void;
  /** A stream of random numbers of its own. */
  random(stream: string): Random;
  trace(what: string): void;
  readonly lines: readonly TraceLine[];
  /** The same for the same seed, on any machine. */
  hash(): string;
}

/** A healthy cluster that has been up for long. */
export function createWorld(options: WorldOptions): World {
  const { seed, mint } = options;
  const clock = createVirtualClock(WORLD_START);
  const { bundle } = mint.bundle();
  const machines: SimMachine[] = [];
  const lines: TraceLine[] = [];
  let made = 0;
  let digest = 0x811c9dc5;
  const version = options.talosVersion ?? '1.14.1';

  function place(name: string, role: 'controlplane' | 'worker', config: string): SimMachine {
    made += 1;
    const address = `10.5.${role === 'controlplane' ? 0 : 1}.${made}`;
    const machine = createMachine({
      name,
      role,
      config,
      address,
      version,
      now: clock.now(),
      elapsed: clock.monotonic(),
      uid: `node-${name}-${made}`,
    });
    machines.push(machine);
    machines.sort((a, b) => (a.role === b.role ? (a.name < b.name ? -1 : 1) : a.role === 'controlplane' ? -1 : 1));
    return machine;
  }

  for (const role of ['controlplane', 'worker'] as const) {
    const count = role === 'controlplane' ? options.controlPlanes : options.workers;
    for (let index = 1; index <= count; index += 1) {
      const name = `${role === 'controlplane' ? 'cp' : 'w'}${index}`;
      const shape = options.shape ?? 'typed';
      place(name, role, writeConfiguration({ role, shape, bundle, hostname: name }));
    }
  }
  const planes = (): SimMachine[] => machines.filter((machine) => machine.role === 'controlplane');
  const random = (stream: string): Random => createRandom(seed, stream);
  const world: World = {
    clock,
    mint,
    timing: { ...MEASURED, ...options.timing },
    bundle,
    etcd: createEtcd({ clock, random: random('etcd'), planes }),
    kubernetes: createKubernetes(),
    machines: () => machines,
    planes,
    find: (name) => machines.find((machine) => machine.name === name),
    at: (address) => machines.find((machine) => machine.address === address),
    add: ({ name, role, config }) => place(name, role, config),
    remove(name) {
      const index = machines.findIndex((machine) => machine.name === name);
      if (index >= 0) machines.splice(index, 1);
    },
    random,
    trace(what) {
      const line = { at: clock.monotonic(), what };
      lines.push(line);
      digest = (Math.imul(digest, 0x01000193) ^ hashOf(`${line.at} ${what}`)) >>> 0;
    },
    lines,
    hash: () => digest.toString(16).padStart(8, '0'),
  };
  world.kubernetes.begin(world);
  startTicks(world);
  return world;
}
