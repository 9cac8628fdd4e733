import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import { writeConfiguration } from './configuration.ts';
import { createEtcd, type SimEtcd } from './etcd.ts';
import type { Issuer } from './issuer.ts';
import { createKubernetes, type SimKubernetes } from './kubernetes.ts';
import { createMachine, type SimMachine } from './machine.ts';
import { type Mint, WORLD_START } from './mint.ts';
import { createRandom, hashOf, type Random } from './random.ts';
import { startTicks } from './ticks.ts';
import { MEASURED, type Timing } from './timing.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** What a world of the search is made of. */
export interface WorldOptions {
  readonly seed: number;
  readonly controlPlanes: number;
  readonly workers: number;
  /** 1.14.1 unless given. */
  readonly talosVersion?: string;
  /** `typed` unless given; versions before 1.14 know only `legacy`. */
  readonly shape?: 'legacy' | 'typed';
  readonly timing?: Partial<Timing>;
  /** Ports of every machine that this host cannot reach, as behind a firewall. */
  readonly closedPorts?: readonly number[];
  /** Machines whose kubelets do not register (`skipNodeRegistration`). */
  readonly standalone?: readonly string[];
  /** Where the API servers of the control planes listen, in their order; 6443 where none is given. */
  readonly apiServerPorts?: readonly number[];
  readonly mint: Mint;
}

/** A machine that is there from the start, with its configuration. */
export interface Placement {
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  readonly address: string;
  readonly config: string;
  /** Its kubelet does not register: there is no Node for it. */
  readonly isStandalone?: boolean;
}

/** Everything that a world is founded on, whoever made it. */
export interface Foundation<M extends Issuer> {
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly mint: M;
  readonly bundle: SecretsBundle;
  readonly placements: readonly Placement[];
  /** Version of Talos on every machine, `1.14.1`. */
  readonly version: string;
  readonly timing: Timing;
  /** See {@link WorldOptions}. */
  readonly closedPorts?: readonly number[];
  /** Gets every line of the trace, which is then not kept: for worlds that live long. */
  readonly onTrace?: (line: TraceLine) => void;
}

/** One line of what happened: symbolic, so that it is the same on every machine. */
export interface TraceLine {
  /** Virtual milliseconds since the start. */
  readonly at: number;
  readonly what: string;
}

/** A cluster in memory: machines, etcd, Kubernetes, one clock, one seed. */
export interface World<M extends Issuer = Issuer> {
  readonly clock: VirtualClock;
  readonly mint: M;
  readonly timing: Timing;
  readonly closedPorts: readonly number[];
  readonly bundle: SecretsBundle;
  readonly etcd: SimEtcd;
  readonly kubernetes: SimKubernetes;
  /** Control planes first, each group by name. */
  machines(): readonly SimMachine[];
  planes(): readonly SimMachine[];
  find(name: string): SimMachine | undefined;
  at(address: string): SimMachine | undefined;
  /** A new machine with an empty disk and this configuration, still to be switched on; its Node appears with its first heartbeat. */
  add(options: Omit<Placement, 'address'> & { readonly address?: string }): SimMachine;
  remove(name: string): void;
  /** A stream of random numbers of its own. */
  random(stream: string): Random;
  trace(what: string): void;
  readonly lines: readonly TraceLine[];
  /** The same for the same seed, on any machine. */
  hash(): string;
}

/** Addresses of the machines of a search: nothing listens there. */
function addressOf(role: 'controlplane' | 'worker', number: number): string {
  return `10.5.${role === 'controlplane' ? 0 : 1}.${number}`;
}

/** A healthy cluster that has been up for long, for a search: CAs out of the stock, time that passes by itself. */
export function createWorld(options: WorldOptions): World<Mint> {
  const { mint } = options;
  const { bundle } = mint.bundle();
  const placements: Placement[] = [];
  for (const role of ['controlplane', 'worker'] as const) {
    const count = role === 'controlplane' ? options.controlPlanes : options.workers;
    for (let index = 1; index <= count; index += 1) {
      const name = `${role === 'controlplane' ? 'cp' : 'w'}${index}`;
      const apiServerPort = options.apiServerPorts?.[placements.length];
      const shape = options.shape ?? 'typed';
      const config = writeConfiguration({ role, shape, bundle, hostname: name, apiServerPort });
      const isStandalone = options.standalone?.includes(name) === true;
      placements.push({ name, role, config, address: addressOf(role, placements.length + 1), isStandalone });
    }
  }
  return foundWorld({
    seed: options.seed,
    clock: createVirtualClock(WORLD_START),
    mint,
    bundle,
    placements,
    version: options.talosVersion ?? '1.14.1',
    timing: { ...MEASURED, ...options.timing },
    closedPorts: options.closedPorts ?? [],
  });
}

/** A healthy cluster that has been up for long, of the machines given. */
export function foundWorld<M extends Issuer>(foundation: Foundation<M>): World<M> {
  const { seed, clock, mint, bundle, version, onTrace } = foundation;
  const machines: SimMachine[] = [];
  // Asked for many times in every look: kept as the list is, and made anew when a machine comes or goes.
  let controlPlanes: readonly SimMachine[] = [];
  let byName: ReadonlyMap<string, SimMachine> = new Map();
  let byAddress: ReadonlyMap<string, SimMachine> = new Map();
  const lines: TraceLine[] = [];
  let made = 0;
  let digest = 0x811c9dc5;

  function place({ name, role, address, config, isStandalone = false }: Placement, isNew: boolean): SimMachine {
    made += 1;
    const machine = createMachine({
      name,
      role,
      config,
      address,
      version,
      now: clock.now(),
      elapsed: clock.monotonic(),
      uid: `node-${name}-${made}`,
      number: made,
      isNew,
      isStandalone,
    });
    machine.others = mint.otherInputs?.(config);
    if (machine.plane !== undefined) machine.plane.etcd.startedWith = machine.others?.etcd;
    machines.push(machine);
    machines.sort((a, b) => (a.role === b.role ? (a.name < b.name ? -1 : 1) : a.role === 'controlplane' ? -1 : 1));
    index();
    return machine;
  }

  function index(): void {
    controlPlanes = machines.filter((machine) => machine.role === 'controlplane');
    byName = new Map(machines.map((machine) => [machine.name, machine]));
    byAddress = new Map(machines.map((machine) => [machine.address, machine]));
  }

  for (const placement of foundation.placements) place(placement, false);
  const planes = (): readonly SimMachine[] => controlPlanes;
  const random = (stream: string): Random => createRandom(seed, stream);
  const world: World<M> = {
    clock,
    mint,
    timing: foundation.timing,
    closedPorts: foundation.closedPorts ?? [],
    bundle,
    etcd: createEtcd({ clock, random: random('etcd'), planes }),
    kubernetes: createKubernetes(),
    machines: () => machines,
    planes,
    find: (name) => byName.get(name),
    at: (address) => byAddress.get(address),
    add: (options) => place({ address: addressOf(options.role, made + 1), ...options }, true),
    remove(name) {
      const at = machines.findIndex((machine) => machine.name === name);
      if (at < 0) return;
      machines.splice(at, 1);
      index();
    },
    random,
    trace(what) {
      const line = { at: clock.monotonic(), what };
      if (onTrace === undefined) lines.push(line);
      else onTrace(line);
      digest = (Math.imul(digest, 0x01000193) ^ hashOf(`${line.at} ${what}`)) >>> 0;
    },
    lines,
    hash: () => digest.toString(16).padStart(8, '0'),
  };
  world.kubernetes.begin(world);
  startTicks(world);
  return world;
}
